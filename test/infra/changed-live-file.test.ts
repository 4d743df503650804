import { describe, expect, it } from "vitest";
import { recordStack } from "../../infra/testing/deployed-stack.ts";
import { readHotRestartSettings } from "../../infra/testing/delivered-settings.ts";
import type { Recorded } from "../../infra/testing/recording-mocks.ts";
import { devnet, onDocker, onKubernetes } from "#infra/testing/stack-configs.ts";

const targets = { docker: onDocker, kubernetes: onKubernetes };

const sidecar = (settings: object) => ({ settings: JSON.stringify({ sidecar: settings }) });
const gateway = (settings: object) => sidecar({ gateway: settings });
const route = (price: string) => ({
  routes: JSON.stringify({
    "GET /x": { accepts: { scheme: "exact", network: "eip155:1672", price }, upstream: "http://10.1.2.3:80/x" },
  }),
});

const apiKeys = (holders: Readonly<Record<string, string>>) => ({
  gatewayApiKeys: JSON.stringify(
    Object.fromEntries(
      Object.entries(holders).map(([name, digit]) => [name, { sha256: digit.repeat(64), tier: "paid" }]),
    ),
  ),
});

type Change = readonly [Readonly<Record<string, string>>, Readonly<Record<string, string>>, service: string];

/** Each change: the stack before and after it, and the changed service. */
const changes = {
  "a gateway limit": [{}, gateway({ ranges: { logsBlocks: 50 } }), "sidecar"],
  "a changed gateway limit": [
    gateway({ ranges: { logsBlocks: 50 } }),
    gateway({ ranges: { logsBlocks: 60 } }),
    "sidecar",
  ],
  "a method's audience": [{}, gateway({ methods: { net_listening: { audience: "public" } } }), "sidecar"],
  "the access log": [{}, gateway({ accessLog: { slowMs: 50 } }), "sidecar"],
  "the connection limit": [{}, gateway({ listener: { connections: 500 } }), "sidecar"],
  "the tracing URL": [{}, gateway({ tracing: { otlpUrl: "http://collector:4318/v1/traces" } }), "sidecar"],
  "the log level": [{}, sidecar({ log: { level: "warn" } }), "sidecar"],
  "the restart budget": [{}, sidecar({ restart: { budgetPerHour: 2 } }), "sidecar"],
  "a health check timeout": [sidecar({ health: { timeoutMs: 2_000 } }), {}, "sidecar"],
  "the first API key": [{}, apiKeys({ ops: "a" }), "sidecar"],
  "a revoked API key": [apiKeys({ ops: "a", partner: "b" }), apiKeys({ ops: "a" }), "sidecar"],
  "a price": [route("1"), route("2"), "resource-server"],
} as const;

const settingsOf = (service: string, settings: object) => ({ settings: JSON.stringify({ [service]: settings }) });

/** Changes of settings that restart the service in a cluster. */
const handedOverOnDocker = {
  "a facilitator limit": [{}, settingsOf("facilitator", { settlement: { inFlightMax: 500 } }), "facilitator"],
  "the facilitator's log level": [{}, settingsOf("facilitator", { log: { level: "warn" } }), "facilitator"],
  "a fallback RPC URL": [
    {},
    settingsOf("facilitator", { chain: { fallbackRpcUrls: ["http://127.0.0.1:1"] } }),
    "facilitator",
  ],
  "a resource server limit": [settingsOf("resource-server", { payment: { inFlightMax: 100 } }), {}, "resource-server"],
  "the resource server's public URL": [{}, { publicUrl: "https://shop.example" }, "resource-server"],
} as const;

describe.each(Object.entries(targets))("a changed file on %s", (target, place) => {
  const deploy = (config: Readonly<Record<string, string>>) =>
    recordStack({ ...devnet, ...place, ...config }, { preview: false });

  const all = target === "docker" ? { ...changes, ...handedOverOnDocker } : changes;
  it.each(Object.entries<Change>(all))("changes only the service's hot-reloaded files: %s", async (_, change) => {
    const [before, after, service] = change;
    const changed = differing(await deploy(before), await deploy(after));
    // A new destination of the gateway must also be allowed in the network policy.
    const isConnected = target === "kubernetes" && JSON.stringify(after).includes("otlpUrl");
    expect(changed.map(({ type, name }) => `${type.split(":").at(-1)} ${name}`).toSorted()).toEqual([
      ...(isConnected ? ["NetworkPolicy gh-allow-node"] : []),
      `${target === "docker" ? "Container" : "Secret"} gh-${service}-live`,
    ]);
  });
});

describe("an operator's own policy file", () => {
  it("replaces the delivered policy, whose settings move to the settings file", async () => {
    const recordedStack = await recordStack(
      { ...devnet, ...targets.docker, ...gateway({ policyPath: "/data/policy.json5", ranges: { logsBlocks: 50 } }) },
      { preview: false },
    );
    expect(readHotRestartSettings(recordedStack)).toMatchObject({
      gateway: { policyPath: "/data/policy.json5", ranges: { logsBlocks: 50 } },
    });
    const delivery = recordedStack.find(({ type, name }) => type.endsWith(":Container") && name === "gh-sidecar-live");
    const uploads = delivery?.inputs["uploads"] as readonly { file: string; content: string }[] | undefined;
    expect(uploads?.map(({ file, content }) => [file, Object.keys(JSON.parse(content) as object)])).toEqual([
      ["/run/gatehouse/incoming/files.json", ["api-keys.json5", "settings.json5"]],
    ]);
  });
});

function differing(before: readonly Recorded[], after: readonly Recorded[]): readonly Recorded[] {
  expect(after.map(({ type, name }) => `${type} ${name}`)).toEqual(before.map(({ type, name }) => `${type} ${name}`));
  return after.filter(({ inputs }, index) => JSON.stringify(inputs) !== JSON.stringify(before[index]?.inputs));
}
