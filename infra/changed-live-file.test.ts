import { describe, expect, it } from "vitest";
import { recordStack } from "./testing/deployed-stack.ts";
import type { Recorded } from "./testing/recording-mocks.ts";

const digest = `sha256:${"a".repeat(64)}`;
const targets = {
  docker: { dockerEngine: "tcp://engine.example:2376" },
  kubernetes: {
    target: "kubernetes",
    gatehouseImage: `registry.example/gatehouse@${digest}`,
    devnetImage: `registry.example/devnet@${digest}`,
  },
};
const devnet = { devAccounts: "true", tokenAddress: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2" };

const gateway = (settings: object) => ({ settings: JSON.stringify({ sidecar: { gateway: settings } }) });
const route = (price: string) => ({
  routes: JSON.stringify({
    "GET /x": { accepts: { scheme: "exact", network: "eip155:1672", price }, upstream: "http://10.1.2.3:80/x" },
  }),
});

/** Each change, the stack before and after it, and what brings it to the service. */
const changes = {
  "a limit of the gateway": [{}, gateway({ ranges: { logsBlocks: 50 } }), "sidecar"],
  "another limit": [gateway({ ranges: { logsBlocks: 50 } }), gateway({ ranges: { logsBlocks: 60 } }), "sidecar"],
  "a method's audience": [{}, gateway({ methods: { net_listening: { audience: "public" } } }), "sidecar"],
  "the access log": [{}, gateway({ accessLog: { slowMs: 50 } }), "sidecar"],
  "a price": [route("1"), route("2"), "resource-server"],
} as const;

describe.each(Object.entries(targets))("on %s", (target, place) => {
  const deploy = (config: Readonly<Record<string, string>>) =>
    recordStack({ ...devnet, ...place, ...config }, { preview: false });

  it.each(Object.entries(changes))(
    "%s changes the files that the service reads while it runs, and nothing else",
    async (_, change) => {
      const [before, after, service] = change;
      const changed = differing(await deploy(before), await deploy(after));
      expect(changed.map(({ type, name }) => `${type.split(":").at(-1)} ${name}`)).toEqual([
        `${target === "docker" ? "Container" : "Secret"} gh-${service}-live`,
      ]);
    },
  );
});

describe("a policy file of the operator's own", () => {
  it("is the one that the sidecar reads; what stands among the settings is its environment then", async () => {
    const recorded = await recordStack(
      { ...devnet, ...targets.docker, ...gateway({ policyPath: "/data/policy.json5", ranges: { logsBlocks: 50 } }) },
      { preview: false },
    );
    const sidecar = recorded.find(({ type, name }) => type.endsWith(":Container") && name === "gh-sidecar");
    expect(sidecar?.inputs["envs"]).toEqual(
      expect.arrayContaining([
        "GATEHOUSE_SIDECAR_GATEWAY_POLICY_PATH=/data/policy.json5",
        "GATEHOUSE_SIDECAR_GATEWAY_RANGES_LOGS_BLOCKS=50",
      ]),
    );
    expect(recorded.filter(({ name }) => name === "gh-sidecar-live")).toEqual([]);
  });
});

function differing(before: readonly Recorded[], after: readonly Recorded[]): readonly Recorded[] {
  expect(after.map(({ type, name }) => `${type} ${name}`)).toEqual(before.map(({ type, name }) => `${type} ${name}`));
  return after.filter(({ inputs }, index) => JSON.stringify(inputs) !== JSON.stringify(before[index]?.inputs));
}
