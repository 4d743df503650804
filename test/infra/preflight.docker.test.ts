import { describe, expect, test } from "vitest";
import { tokenAddress } from "#devnet/token/address.ts";
import { parseConfig } from "#infra/stack-config.ts";
import { preflight } from "#infra/preflight/preflight.ts";
import { ConfigError } from "#infra/config/config-problem.ts";
import { startContainer } from "../support/engine/container.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { asConfig, findFreeHostPorts } from "./host-ports.ts";

const found = await findEngine();
const url = found.ok ? found.url : "";
/** Any image of the engine; its content does not matter. */
const image = found.ok ? found.nodeImage : "";

const problems = async (config: Readonly<Record<string, string>>, prefix = "gatehouse-other") => {
  const free = asConfig(await findFreeHostPorts());
  const built = { gatehouseImage: image, devnetImage: image, pushgatewayImage: image };
  const parsed = parseConfig({ dockerEngine: url, devAccounts: "true", tokenAddress, ...built, ...free, ...config });
  try {
    await preflight(parsed, { prefix, environment: {} });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`);
    throw error;
  }
  return [];
};

describe.skipIf(!found.ok)(`preflight queries to a real engine${skipReason(found)}`, () => {
  test("accept free ports and existing images", async () => {
    expect(await problems({})).toEqual([]);
  });

  test("report ports published by other containers, but allow those of the stack's own containers", async () => {
    const [port = 0] = await findFreePorts(1);
    await using container = await startContainer({
      image,
      options: ["--publish", `127.0.0.1:${port}:4022`],
      command: ["node", "--eval", "setInterval(() => {}, 60_000)"],
    });
    expect(await problems({ statusPort: String(port) })).toEqual([
      expect.stringContaining(`statusPort: found ${port}, but the container ${container.name} already publishes it`),
    ]);
    const ownPrefix = container.name.slice(0, container.name.lastIndexOf("-"));
    expect(await problems({ statusPort: String(port) }, ownPrefix)).toEqual([]);
  });

  test("report an image that neither exists nor can be pulled", async () => {
    expect(await problems({ gatehouseImage: "127.0.0.1:1/gatehouse:none" })).toEqual([
      expect.stringMatching(
        /^gatehouseImage: found 127\.0\.0\.1:1\/gatehouse:none, which the engine does not have and can't pull \(.+\); correct it with/,
      ),
    ]);
  });
});
