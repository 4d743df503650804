import { beforeAll, describe, expect, it } from "vitest";
import { findContainer, listContainers, recordStack } from "../testing/deployed-stack.ts";
import { readHotRestartSettings } from "../testing/delivered-settings.ts";
import type { Recorded } from "../testing/recording-mocks.ts";
import { isSecret } from "../testing/is-secret.ts";
import { devnet, onDocker } from "../testing/stack-configs.ts";

let recorded: readonly Recorded[] = [];
const config = {
  ...onDocker,
  ...devnet,
  settings: JSON.stringify({ sidecar: { restart: { budgetPerHour: 3 } }, "engine-proxy": { restartsPerHour: 4 } }),
  limits: JSON.stringify({ "engine-proxy": { cpus: 0.5, memoryMebibytes: 96 } }),
};

const containers = () => listContainers(recorded);
const container = (name: string) => findContainer(recorded, name);
const networks = (name: string) =>
  (container(name)["networksAdvanced"] as { name: string }[]).map((network) => network.name);

describe("the stack on Docker", () => {
  beforeAll(async () => {
    recorded = await recordStack(config, { preview: false });
  });

  it("deploys to the configured engine, not the environment's", () => {
    const own = recorded.filter(({ type }) => type.startsWith("docker:"));
    expect(own.filter(({ provider }) => !provider.includes("::engine::")).map(({ name }) => name)).toEqual([]);
  });

  it("exposes no secret in environments, and passes the signer key as a secret file", () => {
    const environments = JSON.stringify(
      containers().map(({ inputs }) => [inputs["envs"], inputs["command"], inputs["labels"]]),
    );
    expect(environments).not.toContain("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    expect(environments).not.toContain("test test test");
    expect(container("facilitator")["envs"]).toContain(
      "GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY_FILE=/run/gatehouse/files/signer-privatekey",
    );
    const uploads = container("facilitator-files")["uploads"] as Record<string, unknown>;
    expect(uploads["value"]).toMatchObject([{ file: "/run/gatehouse/incoming/signer-privatekey" }]);
    expect(isSecret(uploads)).toBe(true);
  });

  it("mounts the engine's socket only in the engine proxy, and the proxy's socket in the sidecar", () => {
    const holders = containers().filter(({ inputs }) =>
      JSON.stringify(inputs["volumes"] ?? []).includes("docker.sock"),
    );
    expect(holders.map(({ name }) => name)).toEqual(["gh-engine-proxy"]);
    expect(container("engine-proxy")["networkMode"]).toBe("none");
    expect(container("engine-proxy")).toMatchObject({
      envs: expect.arrayContaining(["GATEHOUSE_ENGINE_PROXY_RESTARTS_PER_HOUR=4"]) as string[],
      memory: 96,
    });
    expect(container("sidecar")["envs"]).toContain(
      "GATEHOUSE_SIDECAR_DOCKER_ENGINE=unix:///run/gatehouse/engine/engine.sock",
    );
  });

  it("prefers the stack's settings over the deployment's defaults", () => {
    expect(readHotRestartSettings(recorded)).toMatchObject({ restart: { budgetPerHour: 3 } });
  });

  it("restricts loopback listeners to their own host names and allows no CORS origins", () => {
    expect(readHotRestartSettings(recorded)).toMatchObject({
      listen: { allowedHosts: ["sidecar", "gh-sidecar"] },
      gateway: { callers: { corsOrigins: [] } },
    });
    expect(readHotRestartSettings(recorded, "resource-server")).toMatchObject({
      operations: { allowedHosts: ["resource-server", "gh-resource-server"] },
    });
  });

  it("gives the node 300 s to stop", () => {
    expect(container("node")).toMatchObject({ stopTimeout: 300, destroyGraceSeconds: 300 });
  });
});

describe("a preview of the stack on Docker", () => {
  it("succeeds without values that only the engine knows", async () => {
    recorded = await recordStack(config, { preview: true });
    expect(containers().length).toBeGreaterThan(7);
  });
});

describe("the Pushgateway on Docker", () => {
  it("is omitted when pushgatewayUrl is set, and the node pushes to that URL", async () => {
    recorded = await recordStack({ ...config, pushgatewayUrl: "http://10.9.8.7:9091" }, { preview: false });
    expect(recorded.filter(({ name }) => name.includes("pushgateway"))).toEqual([]);
    expect(networks("node")).toEqual(["gh-edge", "gh-private"]);
    expect(container("sidecar")["envs"]).toEqual(
      expect.arrayContaining([
        "GATEHOUSE_SIDECAR_PUSHGATEWAY_URL=http://10.9.8.7:9091",
        "GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS=10.9.8.7",
        "GATEHOUSE_SIDECAR_MONITOR_PUSH_PORT=9091",
      ]),
    );
    expect(container("node")["envs"]).toContain("GATEHOUSE_DEVNET_MONITOR_PUSH_ADDRESS=10.9.8.7");
  });
});
