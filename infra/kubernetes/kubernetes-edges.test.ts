import { describe, expect, it } from "vitest";
import { recordStack, findManifest, listManifests } from "../testing/deployed-stack.ts";
import { devnet, onKubernetes, realNode } from "../testing/stack-configs.ts";

const config = { ...onKubernetes, ...devnet };
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
const isDns = ({ ports }: Rule) => ports?.some(({ port }) => port === 53) === true;
const cidrsOf = (rules: readonly Rule[]) =>
  rules
    .filter((rule) => !isDns(rule))
    .flatMap(({ to = [], ports }) =>
      to.flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [[ipBlock.cidr, ports?.map(({ port }) => port)]])),
    );

describe("the network policies of a stack", () => {
  it.each(["pushgateway", "upstream"])("deny the %s all egress, including DNS", async (pod) => {
    expect(await egressOf(pod)).toEqual([]);
  });

  it("allow the resource server internet egress only for an external route", async () => {
    expect(cidrsOf(await egressOf("resource-server"))).toEqual([]);
    const outside = routesTo("https://api.example/data");
    expect(cidrsOf(await egressOf("resource-server", outside))).toEqual([
      ["0.0.0.0/0", undefined],
      ["::/0", undefined],
    ]);
  });

  it("allow DNS only to the cluster's server, a node-local cache and Google's server", async () => {
    const dns = (await egressOf("resource-server")).filter(isDns);
    expect(dns).toHaveLength(1);
    expect(dns[0]?.to).toEqual([
      { namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } },
      { namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "node-local-dns" } } },
      { ipBlock: { cidr: "169.254.20.10/32" } },
      { ipBlock: { cidr: "169.254.169.254/32" } },
      { ipBlock: { cidr: "fd20:ce::254/128" } },
    ]);
  });

  it("allow the hosts in a service's settings: Redis, tracing, reference nodes", async () => {
    const gateway = {
      rateStore: { redisUrl: "rediss://user:hidden@[fd00::7]" },
      tracing: { otlpUrl: "http://collector.tracing.svc:4318/v1/traces" },
      callers: { corsOrigins: ["https://app.example"] },
    };
    const sidecar = { gateway, lag: { references: ["https://rpc.example", "http://10.1.2.3:8545"] } };
    const egress = await egressOf("node", { settings: JSON.stringify({ sidecar }) });
    expect(cidrsOf(egress)).toEqual([
      ["fd00::7/128", [6_379]],
      ["10.1.2.3/32", [8_545]],
    ]);
    expect(egress).toContainEqual({
      to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "tracing" } } }],
    });
    expect(egress.filter(({ to }) => to === undefined)).toEqual([
      { ports: [443, 6_443].map((port) => ({ port, protocol: "TCP" })) },
      { ports: [{ port: 443, protocol: "TCP" }] },
    ]);
  });

  it("allow an upstream in the cluster by namespace, and one at an address by CIDR", async () => {
    const egress = await egressOf("resource-server", routesTo("http://feed.data.svc:8080/x", "https://10.1.2.3/y"));
    expect(cidrsOf(egress)).toEqual([["10.1.2.3/32", [443]]]);
    expect(egress).toContainEqual({
      to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "data" } } }],
    });
  });

  it("allow the API server's ports at apiServerCidr, or at any host without it", async () => {
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

const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example" };
const arn = "alb.ingress.kubernetes.io/certificate-arn";

describe("a stack behind a cloud's load balancer", () => {
  it("uses the cloud's certificates and trusts the load balancer's ranges", async () => {
    const ingress = {
      ...hosts,
      className: "alb",
      sourceCidrs: ["10.0.0.0/16", "2600:1f18::/56"],
      annotations: { [arn]: "arn:aws:acm:eu-central-1:1:certificate/x" },
      serviceAnnotations: { resourceServer: { "cloud.google.com/backend-config": "{}" } },
    };
    const manifests = await deploy({ ingress: JSON.stringify(ingress) });
    expect(findManifest(manifests, "Ingress", "public").spec).not.toHaveProperty("tls");
    expect(findManifest(manifests, "Ingress", "public").metadata.annotations).toMatchObject(ingress.annotations);
    for (const name of ["node", "resource-server"]) {
      expect(findManifest(manifests, "NetworkPolicy", name).spec["ingress"]).toContainEqual(
        expect.objectContaining({ from: ingress.sourceCidrs.map((cidr) => ({ ipBlock: { cidr } })) }),
      );
    }
    expect(JSON.stringify(findManifest(manifests, "NetworkPolicy", "node"))).not.toContain("ingress-nginx");
    expect(JSON.stringify(findManifest(manifests, "Deployment", "resource-server"))).toContain(
      JSON.stringify(JSON.stringify(ingress.sourceCidrs)),
    );
    const annotated = manifests.filter(({ metadata }) => metadata.annotations?.["cloud.google.com/backend-config"]);
    expect(annotated.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(["Service resource-server"]);
  });
});

describe("a stack in an existing namespace", () => {
  it("creates no namespace, and its default-deny policy selects only its own pods", async () => {
    const manifests = await deploy({ createNamespace: "false" });
    expect(manifests.filter(({ kind }) => kind === "Namespace")).toEqual([]);
    expect(findManifest(manifests, "NetworkPolicy", "default-deny").spec["podSelector"]).toEqual({
      matchLabels: { "app.kubernetes.io/instance": "gh" },
    });
  });
});

describe("a node with peers behind a load balancer", () => {
  it("sets the load balancer's class and annotations, and the node's public host name", async () => {
    const given = { className: "service.k8s.aws/nlb", annotations: { "service.beta.kubernetes.io/x": "y" } };
    const manifests = listManifests(
      await recordStack(
        {
          ...onKubernetes,
          ...realNode,
          peers: "load-balancer",
          hostIp: "peers.example",
          peerLoadBalancer: JSON.stringify(given),
        },
        { preview: false },
      ),
    );
    const { metadata, spec } = findManifest(manifests, "Service", "node-peers");
    expect([spec["loadBalancerClass"], metadata.annotations]).toEqual([
      given.className,
      { ...given.annotations, "pulumi.com/skipAwait": "true" },
    ]);
    expect(JSON.stringify(findManifest(manifests, "StatefulSet", "node"))).toContain(
      '{"name":"HOST_IP","value":"peers.example"}',
    );
  });
});

describe("the objects of a stack", () => {
  it("have all recommended labels", async () => {
    const names = ["name", "instance", "component", "part-of", "version", "managed-by"];
    const labelled = (await deploy()).map(({ kind, metadata }) => {
      const labels = (metadata as { labels?: Record<string, string> }).labels ?? {};
      return [`${kind} ${metadata.name}`, names.filter((name) => labels[`app.kubernetes.io/${name}`] === undefined)];
    });
    expect(labelled.filter(([, missing]) => missing?.length !== 0)).toEqual([]);
  });

  it("omit the version label from pod templates, so an upgrade alone restarts no pod", async () => {
    for (const { spec } of await deploy()) {
      const template = spec?.["template"] as { metadata: { labels: object } } | undefined;
      expect(Object.keys(template?.metadata.labels ?? {})).not.toContain("app.kubernetes.io/version");
    }
  });
});
