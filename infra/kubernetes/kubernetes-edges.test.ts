import { describe, expect, it } from "vitest";
import { configSchema } from "../config/config-schema.ts";
import { warnOfPeers } from "../services/node/peers.ts";
import { recordStack, findManifest, listManifests } from "../testing/deployed-stack.ts";

const digest = `sha256:${"a".repeat(64)}`;
const config = {
  target: "kubernetes",
  gatehouseImage: `registry.example/gatehouse@${digest}`,
  devnetImage: `registry.example/devnet@${digest}`,
  devAccounts: "true",
  tokenAddress: `0x${"02".repeat(20)}`,
};
const offer = { scheme: "exact", network: "eip155:1672", price: "$0.01" };
const routesTo = (...upstreams: readonly string[]) => ({
  routes: JSON.stringify(
    Object.fromEntries(upstreams.map((upstream, index) => [`GET /${index}`, { accepts: offer, upstream }])),
  ),
});
const deploy = async (change: Readonly<Record<string, string>> = {}) =>
  listManifests(await recordStack({ ...config, ...change }, { preview: false }));
type Rule = Readonly<{ to?: readonly Readonly<{ ipBlock?: { cidr: string } }>[]; ports?: readonly { port: number }[] }>;
const egressOf = async (pod: string, change: Readonly<Record<string, string>> = {}) =>
  findManifest(await deploy(change), "NetworkPolicy", pod).spec["egress"] as readonly Rule[];
const cidrsOf = (rules: readonly Rule[]) =>
  rules.flatMap(({ to = [], ports }) =>
    to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [[ipBlock.cidr, ports?.map(({ port }) => port)]])),
  );

describe("the network policies of a stack", { timeout: 30_000 }, () => {
  it.each(["pushgateway", "upstream"])(
    "let the %s open no connection at all, not even to look up a name",
    async (pod) => {
      expect(await egressOf(pod)).toEqual([]);
    },
  );

  it("let the resource server reach the internet only where a route is forwarded there", async () => {
    expect(cidrsOf(await egressOf("resource-server"))).toEqual([]);
    const outside = routesTo("https://api.example/data");
    expect(cidrsOf(await egressOf("resource-server", outside))).toEqual([["0.0.0.0/0", undefined]]);
  });

  it("let the resource server reach an upstream in the cluster by its namespace, one at an address by that alone", async () => {
    const egress = await egressOf("resource-server", routesTo("http://feed.data.svc:8080/x", "https://10.1.2.3/y"));
    expect(cidrsOf(egress)).toEqual([["10.1.2.3/32", [443]]]);
    expect(egress).toContainEqual({
      to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "data" } } }],
    });
  });

  it("let the node's pod reach the API server at its own addresses where they are given, else its ports anywhere", async () => {
    const ports = [
      { port: 443, protocol: "TCP" },
      { port: 6_443, protocol: "TCP" },
    ];
    expect(await egressOf("node")).toContainEqual({ ports });
    const egress = await egressOf("node", { apiServerCidr: "10.0.0.1/32" });
    expect(egress).toContainEqual({ to: [{ ipBlock: { cidr: "10.0.0.1/32" } }], ports });
    expect(egress).not.toContainEqual({ ports });
  });
});

describe("a stack with a host port", () => {
  it("is warned of, because it costs its namespace the Pod Security level", () => {
    const parsed = configSchema.parse({ target: "kubernetes" });
    expect(warnOfPeers({ ...parsed, peers: "node-port" })).toBeUndefined();
    const warning = warnOfPeers({ ...parsed, peers: "host-port" });
    expect(warning?.key).toBe("peers");
    expect(warning?.message).toMatch(
      /^found host-port, .* the namespace gatehouse lets in any pod\. Prefer node-port or load-balancer/,
    );
  });
});
