// A strict consumer of every export. The test compiles it in the directory in which the package is installed.
import { PolicyPack } from "@pulumi/policy";
import { Provider } from "@pulumi/docker";
import { payingFetch, PaymentRejectedError, tokenReader, type Fetch, type PaymentEvent } from "gatehouse-evm/client";
import { lintConfig, lintRules, parseNodeVersion, type LintFinding } from "gatehouse-evm/lint";
import { gatehousePolicies } from "gatehouse-evm/policies";
import { ConfigError, deploymentSecret, facilitatorSpec, Service, Stack } from "gatehouse-evm/pulumi";
import { DockerHost } from "gatehouse-evm/pulumi/docker";
import { KubernetesNamespace } from "gatehouse-evm/pulumi/kubernetes";
import { gatewaySettings, readSettings, SettingsError, sidecarSettings } from "gatehouse-evm/settings";

const events: PaymentEvent["type"][] = [];
const pay: Fetch = payingFetch(
  {
    account: { address: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", signTypedData: async () => "0x" },
    assets: [{ network: "eip155:1672", address: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2", decimals: 6 }],
    maxPerPayment: "0.05",
    maxTotal: "1.0",
  },
  { tokens: tokenReader({ rpcUrl: "http://127.0.0.1:8545" }), onEvent: ({ type }) => events.push(type) },
);
export const answer: Promise<Response> = pay("http://127.0.0.1:4021/data").catch((error: unknown) => {
  if (error instanceof PaymentRejectedError) return new Response(error.message);
  throw error;
});

const findings: readonly LintFinding[] = lintConfig(new TextEncoder().encode("{}"), parseNodeVersion("0.16.2"));
export const levels: readonly ("error" | "warning")[] = findings.map(({ rule }) => lintRules[rule].level);

export const port: number = readSettings(gatewaySettings, { env: {} }).public.port;
export const workspace: string | undefined = sidecarSettings.schema.parse({}).node.workspace;
// @ts-expect-error a setting that does not exist
export const none: unknown = readSettings(gatewaySettings, { env: {} }).noSuchSetting;
export { ConfigError, KubernetesNamespace, SettingsError, Stack };

new PolicyPack("acme", { policies: [...gatehousePolicies()] });

new Service("Facilitator", "facilitator", {
  platform: new DockerHost("host", {
    provider: new Provider("engine", { host: "unix:///var/run/docker.sock" }),
    prefix: "pay",
    images: { gatehouse: "registry.example/gatehouse:1" },
    publishAddress: "127.0.0.1",
    hostPorts: {},
    engineSocket: { path: "/var/run/docker.sock", group: undefined },
    protectData: true,
  }),
  service: facilitatorSpec({
    chainId: 1672,
    rpcUrl: "http://node.example:8545",
    signerPrivateKey: deploymentSecret(`0x${"4c".repeat(32)}`),
    tokens: [{ address: "0x8083F940Be4327c7b67c414103e794C0B5eA7Bb2", name: "USDC", version: "2", minAmount: 10_000 }],
    payees: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
  }),
});
