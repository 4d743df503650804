import { afterAll, describe, expect, test } from "vitest";
import { runDocker } from "../support/engine/docker.ts";
import { findEngine, skipReason } from "../support/engine/find-engine.ts";
import { runOnEngine } from "../support/engine/engine-stack.ts";
import { createUniqueName } from "../support/engine/container.ts";
import { until } from "#daemon/testing/until.ts";

const found = await findEngine();
const prefix = createUniqueName("loops");
const labelled = ["--all", "--filter", `label=io.gatehouse.stack=${prefix}`];

/** A container whose process exits at once, and that the engine keeps restarting. */
const looping = (name: string, image: string) => ({
  type: "docker:index/container:Container",
  name,
  protect: false,
  props: {
    name,
    image,
    entrypoints: ["node", "-e", "process.exitCode = 1"],
    labels: [{ label: "io.gatehouse.stack", value: prefix }],
    user: "10001:10001",
    capabilities: { drops: ["ALL"] },
    memory: 64,
    memorySwap: 64,
    cpus: "0.5",
    init: true,
    restart: "unless-stopped",
    networkMode: "none",
  },
});

describe.skipIf(!found.ok)(`a test's own stack on an engine${skipReason(found)}`, () => {
  afterAll(async () => {
    const left = await runDocker("ps", "--quiet", ...labelled);
    if (left !== "") await runDocker("rm", "--force", ...left.split("\n"));
  });

  test("is fully removed while its containers keep restarting", async () => {
    if (!found.ok) throw new Error(found.message);
    const names = [1, 2, 3, 4].map((number) => `${prefix}-${number}`);
    const stack = await runOnEngine(
      names.map((name) => looping(name, found.nodeImage)),
      { url: found.url, prefix },
    );
    await until("each was started again", 60_000, async () => {
      const states = await Promise.all(names.map((name) => stack.inspect(name)));
      return states.every(({ RestartCount: count }) => count >= 2);
    });
    await stack[Symbol.asyncDispose]();
    expect(await runDocker("ps", "--quiet", ...labelled)).toBe("");
  });
});
