import { hash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { digestSettings } from "#daemon/settings/settings.ts";
import { gatewaySettings } from "#gateway/settings.ts";
import { startBareAnvil } from "../support/node/bare-anvil.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { runInProcess } from "../support/command-in-process.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const chainId = 31_337;
const policy = "{ ranges: { logsBlocks: 50 } }\n";

const sha256 = (text: string) => hash("sha256", text);

describe("gatehouse doctor --drift", () => {
  const resources = new AsyncDisposableStack();
  const folder = makeSharedDirectory();
  let policyPath: string;
  let gateway: ServiceProcess;
  let environment: Readonly<Record<string, string>>;

  beforeAll(async () => {
    policyPath = join(folder, "policy.json5");
    await writeFile(policyPath, policy);
    const [port = 0] = await findFreePorts(1);
    const anvil = resources.use(await startBareAnvil(port, chainId));
    environment = {
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: anvil.url,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: String(chainId),
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_POLICY_PATH: policyPath,
    };
    gateway = resources.use(await startService("gateway", environment));
    const readyz = `${gateway.urls["operations"]}/readyz`;
    await until("the gateway is ready", generousMs, async () => (await fetch(readyz)).status === 200);
  });
  afterAll(() => resources.disposeAsync());

  const writeOutputs = async (given: Readonly<Record<string, string>> = environment) => {
    const operations = { status: "http://127.0.0.1:1/status", resourceServerMetrics: "http://127.0.0.1:1/metrics" };
    const configuration = {
      gateway: { settingsSha256: digestSettings(gatewaySettings, given), files: { "policy.json5": sha256(policy) } },
      facilitator: { settingsSha256: "", files: {} },
    };
    const path = join(folder, "outputs.json");
    await writeFile(path, JSON.stringify({ configuration, urls: { operations }, tryThis: [] }));
    return path;
  };
  const doctor = async (path: string, ...more: readonly string[]) =>
    runInProcess(["doctor", "--drift", "--outputs", path, "--url", `gateway=${gateway.urls["operations"]}`, ...more]);

  const filesCondition = async () => {
    const { conditions } = (await (await fetch(`${gateway.urls["operations"]}/status`)).json()) as {
      conditions: readonly { type: string; status: string; message: string }[];
    };
    const found = conditions.find(({ type }) => type === "FilesLoaded");
    if (found === undefined) throw new Error("the gateway reports nothing about its files");
    return found;
  };

  it("exits with 0 if the service runs with the stack's settings, and reports what was not queried", async () => {
    const { status, stdout, stderr } = await doctor(await writeOutputs());
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("ok: drift: gateway: runs version ");
    expect(stdout).toContain(`ok: drift: gateway: ${policyPath} matches the stack's`);
    expect(stdout).toContain("skipped: drift: facilitator: its address is unknown here");
  });

  it("exits with 2 if the settings differ", async () => {
    const path = await writeOutputs({ ...environment, GATEHOUSE_GATEWAY_CACHE_TOTAL_BYTES: "0" });
    const { status, stdout } = await doctor(path, "--json");
    expect(status).toBe(2);
    const { findings } = JSON.parse(stdout) as { findings: readonly unknown[] };
    expect(findings).toContainEqual({
      check: "drift",
      subject: "gateway",
      state: "failed",
      message: expect.stringContaining("its settings differ from the stack's") as string,
    });
  });

  it("exits with 2 if a file was changed manually, even to one that the service can't use", async () => {
    const path = await writeOutputs();
    await writeFile(policyPath, "{ ranges: { logsBlocks: 51 } }\n");
    await until("the change is detected", generousMs, async () => (await doctor(path)).status === 2);
    expect((await doctor(path)).stdout).toMatch(/^failed: drift: gateway: .*policy\.json5 differs from the stack's/);
    await writeFile(policyPath, "{ ranges: { logsBlocks: -1 } }\n");
    const seen = async () => (await doctor(path)).stdout;
    await until("the rejection is reported", generousMs, async () =>
      (await seen()).includes("is invalid (ranges.logsBlocks"),
    );
    await until("the condition reports it", generousMs, async () => (await filesCondition()).status === "False");
    expect((await filesCondition()).message).toContain("is invalid: ranges.logsBlocks");
    await writeFile(policyPath, policy);
    await until("the stack's own file is active", generousMs, async () => (await doctor(path)).status === 0);
    await until("the condition has recovered", generousMs, async () => (await filesCondition()).status === "True");
  });

  it("exits with 1 if nothing responds", async () => {
    const path = await writeOutputs();
    const { status, stdout } = await doctor(path, "--url", "gateway=http://127.0.0.1:1");
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^unknown: drift: gateway: http:\/\/127\.0\.0\.1:1\/configuration can't be queried \(ECONNREFUSED\)/,
    );
  });
});
