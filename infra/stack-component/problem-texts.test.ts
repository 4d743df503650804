import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ConfigError, type ConfigProblem } from "../config/config-problem.ts";
import { findEngineSocket } from "../docker/engine.ts";
import { findDockerProblems } from "../preflight/docker-preflight.ts";
import { findContextProblems } from "../preflight/kubernetes-context.ts";
import { findMissingValues } from "../preflight/preflight.ts";
import { findRegistryProblems } from "../preflight/registry-images.ts";
import { parseConfig } from "../stack-config.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { alertmanagerSpec } from "../services/observability/alertmanager-spec.ts";
import { facilitatorSpec, readFacilitatorArgs } from "../services/facilitator-spec.ts";
import { resourceServerSpec } from "../services/resource-server-spec.ts";
import { warnAboutMonitoring } from "../services/observability/observability-args.ts";
import { warnAboutPeers } from "../services/node/peers.ts";
import { describeTarget } from "../services/stack-context.ts";
import { warnAboutTrustedProxies } from "../services/trusted-proxies.ts";
import { toInputProblem } from "./input-problem.ts";

const format = ({ key, message }: ConfigProblem) => `${key}: ${message}`;

/** The messages that a check reports or throws, once for a stack's configuration and once for a component's inputs. */
async function textsOf(check: () => readonly ConfigProblem[] | Promise<readonly ConfigProblem[]>): Promise<string> {
  const problems = await Promise.try(check).catch((error: unknown) => {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  });
  const lines = problems.flatMap((problem) => [`stack ${format(problem)}`, `input ${format(toInputProblem(problem))}`]);
  return `\n${lines.join("\n")}\n`;
}

const parsed = (raw: Readonly<Record<string, string>>) => () => findMissingValues(parseConfig(raw));

/** An engine that can't be queried, with this error code. */
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(`connect ${code}`), { code }));
const oldEngine = () => Promise.resolve({ status: 200, body: { ApiVersion: "1.20" }, headers: {} });
/** A registry that shows every repository, without tags. */
const emptyRegistry = (url: string | URL | Request) =>
  Promise.resolve(Response.json({}, { status: String(url).includes("/manifests/") ? 404 : 200 }));

it("names an invalid value", async () => {
  expect(await textsOf(parsed({ chainId: "0", hostIp: "here", signerPrivateKey: "0x1" }))).toMatchInlineSnapshot(`
    "
    stack chainId: found 0; expected an EIP-155 chain id, a whole number, 1 or more. Correct it with \`pulumi config set chainId …\`.
    input chainId: found 0; expected an EIP-155 chain id, a whole number, 1 or more. Correct it.
    stack signerPrivateKey: found an invalid value; expected a private key: 64 hexadecimal digits (0x optional). Correct it with \`pulumi config set --secret signerPrivateKey …\`.
    input signerPrivateKey: found an invalid value; expected a private key: 64 hexadecimal digits (0x optional). Correct it.
    stack hostIp: found here; expected an IP address, because on Docker the node's start does not resolve names. Correct it with \`pulumi config set hostIp …\`.
    input hostIp: found here; expected an IP address, because on Docker the node's start does not resolve names. Correct it.
    "
  `);
  const limits = JSON.stringify({ node: { memory: 5 } });
  expect(await textsOf(parsed({ limits, observability: '{"grafana":{"port":"no"}}' }))).toMatchInlineSnapshot(`
    "
    stack limits.node.cpus: missing; expected a number. Correct it with \`pulumi config set --path limits.node.cpus …\`.
    input limits.node.cpus: missing; expected a number. Correct it.
    stack limits.node.memoryMebibytes: missing; expected a number. Correct it with \`pulumi config set --path limits.node.memoryMebibytes …\`.
    input limits.node.memoryMebibytes: missing; expected a number. Correct it.
    stack limits.node: no such key: "memory"; correct or remove it. Correct it with \`pulumi config set --path limits.node …\`.
    input limits.node: no such key: "memory"; correct or remove it. Correct it.
    stack observability.grafana.port: found no; expected a number, not text. Correct it with \`pulumi config set --path observability.grafana.port …\`.
    input observability.grafana.port: found no; expected a number, not text. Correct it.
    "
  `);
});

it("names an unknown key", async () => {
  expect(await textsOf(parsed({ chainID: "1" }))).toMatchInlineSnapshot(`
    "
    stack chainID: unknown key; Pulumi.yaml lists the keys. Correct the name or remove it with \`pulumi config rm\`.
    input chainID: unknown input. Correct the name or remove it.
    "
  `);
});

it("names what is missing", async () => {
  const key = `0x${"1".repeat(64)}`;
  expect(await textsOf(parsed({}))).toMatchInlineSnapshot(`
    "
    stack signerPrivateKey: missing; expected the key of the account that submits settlements. Set it with \`pulumi config set --secret signerPrivateKey …\`.
    input signerPrivateKey: missing; expected the key of the account that submits settlements. Set it.
    stack payTo: missing; expected the account that receives payments. Set it with \`pulumi config set payTo …\`.
    input payTo: missing; expected the account that receives payments. Set it.
    stack tokenAddress: missing; expected the contract of the payment token. Set it with \`pulumi config set tokenAddress …\`.
    input tokenAddress: missing; expected the contract of the payment token. Set it.
    "
  `);
  expect(await textsOf(parsed({ target: "kubernetes", signerPrivateKey: key }))).toMatchInlineSnapshot(`
    "
    stack gatehouseImage: missing; on Kubernetes, images must come from a registry. Push the image and set \`pulumi config set gatehouseImage registry/name@sha256:…\`.
    input gatehouseImage: missing; on Kubernetes, images must come from a registry. Push the image and set the input \`gatehouseImage\` to \`registry/name@sha256:…\`.
    stack devnetImage: missing; on Kubernetes, images must come from a registry. Push the image and set \`pulumi config set devnetImage registry/name@sha256:…\`.
    input devnetImage: missing; on Kubernetes, images must come from a registry. Push the image and set the input \`devnetImage\` to \`registry/name@sha256:…\`.
    "
  `);
});

it("names an engine that does not answer or is too old", async () => {
  const config = parseConfig({ dockerEngine: "unix:///nowhere/engine.sock" });
  expect(await textsOf(() => [findEngineSocket(config.dockerEngine)].flatMap(() => []))).toMatchInlineSnapshot(`
    "
    stack dockerEngine: found unix:///nowhere/engine.sock, which is not a socket; start the Docker engine, or set its address with \`pulumi config set dockerEngine …\`.
    input dockerEngine: found unix:///nowhere/engine.sock, which is not a socket; start the Docker engine, or set its address.
    "
  `);
  const look = { prefix: "pay", probe: undefined };
  expect(await textsOf(() => findDockerProblems(config, { ...look, requestEngine: failing("ENOENT") })))
    .toMatchInlineSnapshot(`
    "
    stack dockerEngine: found unix:///nowhere/engine.sock, which is not responding (connect ENOENT); start the Docker engine, or set its address with \`pulumi config set dockerEngine …\`.
    input dockerEngine: found unix:///nowhere/engine.sock, which is not responding (connect ENOENT); start the Docker engine, or set its address.
    "
  `);
  expect(await textsOf(() => findDockerProblems(config, { ...look, requestEngine: failing("EACCES") })))
    .toMatchInlineSnapshot(`
      "
      stack dockerEngine: found unix:///nowhere/engine.sock, which is not responding (connect EACCES); no permission for this socket; join its group (often \`docker\`), or run as a user with access.
      input dockerEngine: found unix:///nowhere/engine.sock, which is not responding (connect EACCES); no permission for this socket; join its group (often \`docker\`), or run as a user with access.
      "
    `);
  expect(await textsOf(() => findDockerProblems(config, { ...look, requestEngine: oldEngine }))).toMatchInlineSnapshot(`
    "
    stack dockerEngine: found an engine with API version 1.20; expected 1.41 or later. Update Docker to 20.10 or later.
    input dockerEngine: found an engine with API version 1.20; expected 1.41 or later. Update Docker to 20.10 or later.
    "
  `);
});

it("names taken ports and missing images", async () => {
  const observability = JSON.stringify({ prometheus: { image: "registry.example/prometheus:1", port: 9_600 } });
  const config = parseConfig({
    gatewayPort: "9600",
    baseImage: "node:20",
    pushgatewayUrl: "http://a:1",
    observability,
  });
  const bodies: Readonly<Record<string, unknown>> = {
    "/version": { ApiVersion: "1.52" },
    "/containers/json": [{ Names: ["/other"], Ports: [{ PublicPort: 4_021 }] }],
    "/images/node:20/json": { Config: { Env: ["NODE_VERSION=20.1.0"] } },
  };
  const requestEngine = (path: string) => {
    const [status, body] = path in bodies ? [200, bodies[path]] : [404, { message: "manifest unknown" }];
    return Promise.resolve({ status, body, headers: {} });
  };
  const look = { requestEngine, probe: undefined, prefix: "pay" };
  expect(await textsOf(() => findDockerProblems(config, look))).toMatchInlineSnapshot(`
    "
    stack statusPort: found 9600, as is gatewayPort; set different ports with \`pulumi config set statusPort …\`.
    input statusPort: found 9600, as is gatewayPort; set different ports.
    stack observability.prometheus.port: found 9600, as is statusPort; set different ports with \`pulumi config set --path observability.prometheus.port …\`.
    input observability.prometheus.port: found 9600, as is statusPort; set different ports.
    stack resourceServerPort: found 4021, but the container other already publishes it. Free it, or use another one with \`pulumi config set resourceServerPort …\`.
    input resourceServerPort: found 4021, but the container other already publishes it. Free it, or use another one.
    stack observability.prometheus.image: found registry.example/prometheus:1, which the engine does not have and can't pull (manifest unknown); correct it with \`pulumi config set --path observability.prometheus.image …\`, or load it into the engine.
    input observability.prometheus.image: found registry.example/prometheus:1, which the engine does not have and can't pull (manifest unknown); correct it, or load it into the engine.
    stack baseImage: found node:20, which has Node 20.1.0; expected an image with Node 24 or later. Correct it with \`pulumi config set baseImage …\`.
    input baseImage: found node:20, which has Node 20.1.0; expected an image with Node 24 or later. Correct it.
    "
  `);
  const image = { ...config, gatehouseImage: "registry.example/a/b:1" };
  expect(await textsOf(() => findRegistryProblems(image, { fetch: emptyRegistry }))).toMatchInlineSnapshot(`
    "
    stack gatehouseImage: found registry.example/a/b:1, but registry.example has no 1 in a/b. Push it, or correct it with \`pulumi config set gatehouseImage …\`.
    input gatehouseImage: found registry.example/a/b:1, but registry.example has no 1 in a/b. Push it, or correct it.
    stack observability.prometheus.image: found registry.example/prometheus:1, but registry.example has no 1 in prometheus. Push it, or correct it with \`pulumi config set --path observability.prometheus.image …\`.
    input observability.prometheus.image: found registry.example/prometheus:1, but registry.example has no 1 in prometheus. Push it, or correct it.
    "
  `);
});

it("names a context that the kubeconfig does not have", async () => {
  const home = mkdtempSync(join(tmpdir(), "gatehouse-context-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const kubeconfig = join(home, "config");
  writeFileSync(kubeconfig, "contexts:\n  - name: staging\n");
  const look = { kubeconfig, home, inCluster: false };
  expect(await textsOf(() => findContextProblems("prodution", look))).toMatchInlineSnapshot(`
    "
    stack kubernetesContext: found prodution, which the kubeconfig does not have; it has staging. Correct it with \`pulumi config set kubernetesContext …\`.
    input kubernetesContext: found prodution, which the kubeconfig does not have; it has staging. Correct it.
    "
  `);
  expect(await textsOf(() => findContextProblems(undefined, look))).toMatchInlineSnapshot(`
    "
    stack kubernetesContext: missing, and the kubeconfig has no current context; it has staging. Correct it with \`pulumi config set kubernetesContext …\`.
    input kubernetesContext: missing, and the kubeconfig has no current context; it has staging. Correct it.
    "
  `);
});

const node = { nodeImage: "registry.example/node:1", nodeUser: "1000", hostIp: "192.0.2.1" };
const images = { gatehouseImage: "registry.example/gatehouse:1", devnetImage: "registry.example/devnet:1" };
const onKubernetes = { target: "kubernetes", ...images };
const json = (value: unknown) => JSON.stringify(value);

const refused: Readonly<Record<string, Readonly<Record<string, string>>>> = Object.fromEntries([
  ["an own database that the target does not have", { ...onKubernetes, postgresImage: "postgres:16" }],
  [
    "an own database next to another, without a password",
    { postgresImage: "postgres:16", databaseUrl: "postgresql://a:b@c:5432/d" },
  ],
  [
    "a port that a cluster does not give",
    { ...onKubernetes, ...node, nodeVersion: "0.16.2", peers: "node-port", peerPort: "80" },
  ],
  ["the node's own port, and no address", { ...node, hostIp: "", nodeVersion: "0.16.2", peerPort: "18100" }],
  ["what watches where nothing does", { observability: json({ existing: { namespace: "m" }, prometheus: {} }) }],
  ["what has nothing to live on", { observability: json({ grafana: {}, alertmanager: {} }) }],
  [
    "two Pushgateways, one of them with a path",
    { pushgatewayImage: "push:1", pushgatewayUrl: "http://127.0.0.1:9091/x" },
  ],
  ["keys of a node that has none", { domainKey: "a", stabilizingKey: "b" }],
  ["keys from where the target has none", { ...node, nodeVersion: "0.16.2", nodeKeysSecret: "keys" }],
  ["keys from two places", { ...node, nodeVersion: "0.16.2", nodeKeysDirectory: "/keys", domainKey: "a" }],
  ["no version", node],
  ["no keys", { ...node, nodeVersion: "0.16.2" }],
  ["no keys in a cluster", { ...onKubernetes, ...node, nodeVersion: "0.16.2" }],
  ["replicas that can't be", { ...onKubernetes, facilitatorReplicas: json({ min: 3, max: 2 }) }],
]);

it("names what does not fit together, and what the builders of services refuse", async () => {
  const texts: string[] = [];
  for (const [what, raw] of Object.entries(refused)) texts.push(`# ${what}${await textsOf(parsed(raw))}`);
  const config = parseConfig({ devAccounts: "true", tokenAddress: `0x${"1".repeat(40)}` });
  const context = { prefix: "pay", ...describeTarget(config, "pay"), secret: deploymentSecret };
  const built = await textsOf(() => [
    ...facilitatorSpec({ ...readFacilitatorArgs(config, context), signerPrivateKey: undefined }).problems,
    ...resourceServerSpec({ ...config, routes: { "GET /x": {} } }, context).problems,
    ...alertmanagerSpec({ ...config, alertmanagerConfig: "{" }, context).problems,
    ...alertmanagerSpec({ ...config, alertmanagerConfig: "a: 1" }, context).problems,
  ]);
  await expect(`${texts.join("\n")}\n# services${built}`).toMatchFileSnapshot("../testing/golden/problems.txt");
});

/** A deployable stack on Kubernetes. */
const parse = (more: Readonly<Record<string, string>>) =>
  parseConfig({
    target: "kubernetes",
    gatehouseImage: "g",
    devnetImage: "d",
    devAccounts: "true",
    tokenAddress: `0x${"1".repeat(40)}`,
    ...more,
  });

it("words warnings for their reader, too", async () => {
  const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example", tlsSecret: "tls" };
  const warnings = [
    ...warnAboutMonitoring(parse({ observability: '{"prometheus":{}}' })),
    ...warnAboutMonitoring(
      parse({ observability: '{"prometheus":{},"alertmanager":{},"runbookBaseUrl":"https://r.example"}' }),
    ),
    warnAboutPeers(parse({ peers: "host-port" })),
    warnAboutTrustedProxies(parse({ ingress: JSON.stringify(hosts) })),
  ].filter((warning) => warning !== undefined);
  const texts = await textsOf(() => warnings);
  expect(texts).toMatchInlineSnapshot(`
    "
    stack observability.prometheus: alerts fire in Prometheus but nobody is notified. For an Alertmanager, \`pulumi config set --path observability.alertmanager.port 9093\`.
    input observability.prometheus: alerts fire in Prometheus but nobody is notified. For an Alertmanager, set the input \`observability.alertmanager.port\` to \`9093\`.
    stack observability.runbookBaseUrl: not set, so links in alerts and dashboards are broken. With the URL at which your team reads docs/runbooks, \`pulumi config set --path observability.runbookBaseUrl <URL>\`.
    input observability.runbookBaseUrl: not set, so links in alerts and dashboards are broken. With the URL at which your team reads docs/runbooks, set the input \`observability.runbookBaseUrl\` to \`<URL>\`.
    stack observability.alertmanager: no receiver is set, so it shows alerts but notifies nobody. Write an alertmanager.yml, and \`pulumi config set --secret alertmanagerConfig < alertmanager.yml\`.
    input observability.alertmanager: no receiver is set, so it shows alerts but notifies nobody. Write an alertmanager.yml, and set the input \`alertmanagerConfig\`.
    stack peers: found host-port, which Pod Security admission allows only at level privileged, so the namespace gatehouse admits any pod. Prefer node-port or load-balancer, which keep it at level restricted; otherwise, let only this program create pods there.
    input peers: found host-port, which Pod Security admission allows only at level privileged, so the namespace gatehouse admits any pod. Prefer node-port or load-balancer, which keep it at level restricted; otherwise, let only this program create pods there.
    stack ingress.trustedProxies: not set, so X-Forwarded-For is trusted from every private address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7). This is safe only if network policies are enforced (they admit only the pods of ingress-nginx) and these pods have private addresses. Otherwise, set their address range (\`kubectl get pods -n ingress-nginx -o wide\` shows it): \`pulumi config set --path 'ingress.trustedProxies[0]' 10.244.0.0/16\`.
    input ingress.trustedProxies: not set, so X-Forwarded-For is trusted from every private address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7). This is safe only if network policies are enforced (they admit only the pods of ingress-nginx) and these pods have private addresses. Otherwise, set their address range (\`kubectl get pods -n ingress-nginx -o wide\` shows it): set the input \`ingress.trustedProxies[0]\` to \`10.244.0.0/16\`.
    "
  `);
  const inputs = texts.split("\n").filter((line) => line.startsWith("input "));
  expect(inputs).toHaveLength(5);
  expect(inputs.join("\n")).not.toContain("pulumi config");
});

it("repeats to the letter what a person wrote, even where it reads like a command", async () => {
  const hostIp = "host with `pulumi config set hostIp 1`";
  const found = `found ${hostIp}; expected the IP address or host name at which peers reach the node. Correct it`;
  expect(await textsOf(parsed({ hostIp }))).toBe(
    `\nstack hostIp: ${found} with \`pulumi config set hostIp …\`.\ninput hostIp: ${found}.\n`,
  );
});

it("keeps the credentials of a URL out of a problem's parts", () => {
  const pushgatewayUrl = "ftp://pusher:hunter2@metrics.example";
  expect.assertions(2);
  try {
    parsed({ pushgatewayUrl })();
  } catch (error) {
    const shown = JSON.stringify((error as ConfigError).problems);
    expect(shown).toContain('"parts":{"wrong":"found ftp://[masked]@metrics.example;');
    expect(shown).not.toContain("hunter2");
  }
});
