import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ConfigError, type ConfigProblem } from "../config/config-problem.ts";
import { findEngineSocket } from "../docker/engine.ts";
import { findDockerProblems, findPortConflicts } from "../preflight/docker-preflight.ts";
import { findContextProblems } from "../preflight/kubernetes-context.ts";
import { findMissingValues } from "../preflight/preflight.ts";
import { parseConfig } from "../stack-config.ts";
import { deploymentSecret } from "../config/pulumi-config.ts";
import { buildAlertmanagerSpec } from "../services/observability/alertmanager-spec.ts";
import { facilitatorSpec, readFacilitatorArgs } from "../services/facilitator-spec.ts";
import { buildResourceServerSpec } from "../services/resource-server-spec.ts";
import { findMonitoringWarnings } from "../services/observability/observability-args.ts";
import { findPeerWarning } from "../services/node/peers.ts";
import { describeTarget } from "../services/stack-context.ts";
import { findTrustedProxyWarning } from "../services/trusted-proxies.ts";

type Check = () => readonly ConfigProblem[] | Promise<readonly ConfigProblem[]>;

/** The messages that a check reports or throws, once for a stack's configuration and once for a component's inputs. */
async function textsOf(check: Check): Promise<string> {
  const problems = await Promise.try(check).catch((error: unknown) => {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  });
  const lines = problems.flatMap(({ key, message, inputMessage = message }) => [
    `stack ${key}: ${message}`,
    `input ${key}: ${inputMessage}`,
  ]);
  return `\n${lines.join("\n")}\n`;
}

const parsed = (raw: Readonly<Record<string, string>>) => () => findMissingValues(parseConfig(raw));

/** An engine that can't be queried, with this error code. */
const failing = (code: string) => () => Promise.reject(Object.assign(new Error(`connect ${code}`), { code }));
const oldEngine = () => Promise.resolve({ status: 200, body: { ApiVersion: "1.20" }, headers: {} });
/** Configuration of a node whose image is in a registry. */
const node = { nodeImage: "registry.example/node:1", nodeUser: "1000", hostIp: "192.0.2.1" };
const versioned = { ...node, nodeVersion: "0.16.2" };
const images = { gatehouseImage: "registry.example/gatehouse:1", devnetImage: "registry.example/devnet:1" };
const onKubernetes = { target: "kubernetes", ...images };
const json = (value: unknown) => JSON.stringify(value);
const devnetOnly = { devAccounts: "true", tokenAddress: `0x${"1".repeat(40)}` };
const signerPrivateKey = `0x${"1".repeat(64)}`;
const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example", tlsSecret: "tls" };
const entryPoint = { nodeKeysPassword: "hidden", nodeGenesis: "{}", nodeForks: "{}", nodeFiles: '{"a": "b"}' };
const receivers = "route: { receiver: pager }\nreceivers: [{ name: x, webhook_configs: [{ url: hidden-token }] }]";

/** Rejected configurations, by fault. */
const rejected: readonly (readonly [what: string, raw: Readonly<Record<string, string>>])[] = [
  ["invalid values", { chainId: "0", hostIp: "here", signerPrivateKey: "hidden-key" }],
  ["values out of range", { target: "nomad", gatewayPort: "99999", publishAddress: "here" }],
  ["nested invalid values", { limits: json({ node: { memory: 5 } }), observability: '{"grafana":{"port":"no"}}' }],
  ["an unknown key", { chainID: "1" }],
  ["missing values", {}],
  [
    "development accounts with a real node and a custom signer",
    { ...versioned, devAccounts: "true", signerPrivateKey },
  ],
  ["missing images", { target: "kubernetes", signerPrivateKey }],
  ["a PostgreSQL image that the target does not support", { ...onKubernetes, postgresImage: "postgres:16" }],
  [
    "a PostgreSQL image besides another database, without a password",
    { postgresImage: "postgres:16", databaseUrl: "postgresql://a:b@c:5432/d" },
  ],
  ["an invalid database password", { postgresImage: "postgres:16", postgresPassword: "hidden:pass@word" }],
  ["a database password alone", { postgresPassword: "hidden-password-of-the-ledgers" }],
  ["a port outside the cluster's range", { ...onKubernetes, ...versioned, peers: "node-port", peerPort: "80" }],
  ["a port of the node itself, and no address", { ...versioned, hostIp: "", peerPort: "18100" }],
  ["a load balancer without an address", { ...onKubernetes, ...versioned, hostIp: "", peers: "load-balancer" }],
  [
    "monitoring that the target does not support",
    { observability: json({ existing: { namespace: "m" }, prometheus: {} }) },
  ],
  ["monitoring without what it depends on", { observability: json({ grafana: {}, alertmanager: {} }) }],
  [
    "secrets for undeployed services",
    { observability: '{"prometheus":{}}', alertmanagerConfig: receivers, grafanaPassword: "hidden-by-choice" },
  ],
  [
    "two Pushgateways, one of them with a path",
    { pushgatewayImage: "push:1", pushgatewayUrl: "http://127.0.0.1:9091/x" },
  ],
  ["keys for a node without keys", { domainKey: "a", stabilizingKey: "b" }],
  ["keys from a source that the target does not have", { ...versioned, nodeKeysSecret: "keys" }],
  [
    "keys from a host directory, and an engine's limits, on a cluster",
    { ...onKubernetes, ...versioned, nodeKeysDirectory: "/keys", nodeUlimits: '{"nofile": 5000}' },
  ],
  ["invalid keys", { ...versioned, nodeKeysDirectory: "keys", domainKey: "hidden".repeat(20_000) }],
  ["keys from two sources", { ...versioned, nodeKeysDirectory: "/keys", domainKey: "a" }],
  ["no version", node],
  ["no user", { ...versioned, nodeUser: "" }],
  ["devnet settings for a real node", { ...versioned, settings: json({ node: { chain: { blockMs: 5 } } }) }],
  ["keys of another node family", { ...versioned, ...entryPoint }],
  ["keys of a node family, without a node", { ...entryPoint, nodeFamily: "pharos" }],
  [
    "variables and paths reserved by the stack",
    {
      ...versioned,
      nodeFamily: "pharos",
      nodeEnvironment: '{"CONSENSUS_KEY_PWD": "hidden", "OTHER": "fine"}',
      nodeFiles: '{"keys/domain.key": "hidden", "bin/VERSION": "x", "pharos.conf": "x", "log.conf": "fine"}',
    },
  ],
  ["a path outside the workspace", { ...versioned, nodeFamily: "pharos", nodeFiles: '{"../etc/passwd": "hidden"}' }],
  ["no keys", versioned],
  ["no keys on a cluster", { ...onKubernetes, ...versioned }],
  [
    "keys that only a cluster supports",
    { ...devnetOnly, ingress: json(hosts), peers: "host-port", renderTo: "out", createNamespace: "false" },
  ],
  ["impossible replica counts", { ...onKubernetes, facilitatorReplicas: json({ min: 3, max: 2 }) }],
  [
    "no replicas, and another kind of database",
    { facilitatorReplicas: json({ min: 0, max: 2 }), databaseUrl: "mysql://gatehouse:hidden@db.example/x" },
  ],
  [
    "replicas without a shared database",
    { ...onKubernetes, resourceServerReplicas: json({ min: 2, max: 6 }), databaseCidr: "10.20.0.0/24" },
  ],
  ["an Ingress without a certificate", { ...onKubernetes, ingress: json({ ...hosts, tlsSecret: undefined }) }],
  [
    "two kinds of public access",
    {
      ...onKubernetes,
      ingress: json(hosts),
      gatewayApi: json({ ...hosts, tlsSecret: undefined, name: "public", namespace: "gateways" }),
    },
  ],
  [
    "a cluster, and a directory for rendered objects",
    { ...onKubernetes, renderTo: "out", kubernetesContext: "staging" },
  ],
];

/** A deployable stack on Kubernetes. */
const parse = (more: Readonly<Record<string, string>>) =>
  parseConfig({ ...onKubernetes, devAccounts: "true", tokenAddress: `0x${"1".repeat(40)}`, ...more });

/** Warnings about configurations that are deployed. */
const warnings = () =>
  [
    ...findMonitoringWarnings(parse({ observability: '{"prometheus":{}}' })),
    ...findMonitoringWarnings(
      parse({ observability: '{"prometheus":{},"alertmanager":{},"runbookBaseUrl":"https://r.example"}' }),
    ),
    findPeerWarning(parse({ peers: "host-port" })),
    findPeerWarning(parse({ peers: "node-port" })),
    findTrustedProxyWarning(parse({ ingress: json(hosts) })),
  ].filter((warning) => warning !== undefined);

/** Problems reported by the services' builders. */
function listServiceProblems(): readonly ConfigProblem[] {
  const config = parseConfig({ devAccounts: "true", tokenAddress: `0x${"1".repeat(40)}` });
  const context = { prefix: "pay", ...describeTarget(config, "pay"), secret: deploymentSecret };
  return [
    ...facilitatorSpec({ ...readFacilitatorArgs(config, context), signerPrivateKey: undefined }).problems,
    ...buildResourceServerSpec({ ...config, routes: { "GET /x": {} } }, context).problems,
    ...buildAlertmanagerSpec({ ...config, alertmanagerConfig: "{" }, context).problems,
    ...buildAlertmanagerSpec({ ...config, alertmanagerConfig: "hidden: 1" }, context).problems,
    ...buildAlertmanagerSpec({ ...config, alertmanagerConfig: receivers }, context).problems,
  ];
}

const unreachable = parseConfig({ dockerEngine: "unix:///nowhere/engine.sock" });
const onHost = async (
  requestEngine: Parameters<typeof findDockerProblems>[1]["requestEngine"],
  config = unreachable,
) => [
  ...findPortConflicts(config),
  ...(await findDockerProblems(config, { requestEngine, probe: undefined, prefix: "pay" })),
];

const observed = parseConfig({
  gatewayPort: "9600",
  baseImage: "node:20",
  pushgatewayUrl: "http://a:1",
  observability: JSON.stringify({ prometheus: { image: "registry.example/prometheus:1", port: 9_600 } }),
});

/** An engine with another stack's container, an old base image, and no other images. */
function occupied(path: string) {
  const bodies: Readonly<Record<string, unknown>> = {
    "/version": { ApiVersion: "1.52" },
    "/containers/json": [{ Names: ["/other"], Ports: [{ PublicPort: 4_021 }] }],
    "/images/node:20/json": { Config: { Env: ["NODE_VERSION=20.1.0"] } },
  };
  const [status, body] = path in bodies ? [200, bodies[path]] : [404, { message: "manifest unknown" }];
  return Promise.resolve({ status, body, headers: {} });
}

it("renders every problem and warning for stack configurations and component inputs", async () => {
  const home = mkdtempSync(join(tmpdir(), "gatehouse-context-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  writeFileSync(join(home, "config"), "contexts:\n  - name: staging\n");
  const kubernetesHome = { kubeconfig: join(home, "config"), home, inCluster: false };
  const checks: readonly (readonly [what: string, check: Check])[] = [
    ...rejected.map(([what, raw]) => [what, parsed(raw)] as const),
    ["services", listServiceProblems],
    ["a path that is not a socket", () => [findEngineSocket(unreachable.dockerEngine)].flatMap(() => [])],
    ["an engine that is down", () => onHost(failing("ENOENT"))],
    ["an engine without permission", () => onHost(failing("EACCES"))],
    ["an old engine", () => onHost(oldEngine)],
    ["ports in use, missing images, an old base image", () => onHost(occupied, observed)],
    ["a context missing from the kubeconfig", () => findContextProblems("prodution", kubernetesHome)],
    ["no current context", () => findContextProblems(undefined, kubernetesHome)],
    ["warnings", warnings],
  ];
  const texts: string[] = [];
  for (const [what, check] of checks) texts.push(`# ${what}${await textsOf(check)}`);
  const text = texts.join("\n");
  expect(text).not.toMatch(/^input .*pulumi config/m);
  expect(text).not.toContain("hidden");
  await expect(text).toMatchFileSnapshot("../testing/golden/problems.txt");
});

it("quotes user input verbatim, even text that looks like a command", async () => {
  const hostIp = "host with `pulumi config set hostIp 1`";
  const found = `found ${hostIp}; expected the IP address or host name at which peers reach the node. Correct it`;
  expect(await textsOf(parsed({ hostIp }))).toBe(
    `\nstack hostIp: ${found} with \`pulumi config set hostIp …\`.\ninput hostIp: ${found}.\n`,
  );
});

it("masks URL credentials in both messages", () => {
  const pushgatewayUrl = "ftp://pusher:hunter2@metrics.example";
  expect.assertions(2);
  try {
    parsed({ pushgatewayUrl })();
  } catch (error) {
    const shown = JSON.stringify((error as ConfigError).problems);
    expect(shown).toContain('"inputMessage":"found ftp://[masked]@metrics.example;');
    expect(shown).not.toContain("hunter2");
  }
});
