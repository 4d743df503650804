import { z } from "zod";
import { cronExpression } from "#daemon/settings/cron.ts";
import { address, chainId, port, privateKey, seconds } from "#daemon/settings/types.ts";
import { gatewayApiSchema, ingressSchema } from "./public-way.ts";

const yesOrNo = z.boolean().meta({ expected: "true or false" });
const text = (expected: string) => z.string().min(1).meta({ expected });
const imageReference = text("an image reference such as registry.example/node:0.16.2@sha256:…");

const nodeKey = z.string().min(1).max(65_536).meta({ expected: "the text of the key's file" });

const restore = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  sha256: z.string().regex(/^[0-9a-fA-F]{64}$/),
  strip: z.int().min(0).max(16).default(0),
});

const volumeGrowth = z.strictObject({
  growBelowFreeRatio: z.number().min(0.01).max(0.9).optional(),
  stepGibibytes: z.int().min(1).optional(),
  ceilingGibibytes: z.int().min(1),
});

const volumeSnapshots = z.strictObject({
  schedule: z
    .string()
    .regex(/^(@(hourly|daily|weekly|monthly)|\S+( \S+){4})$/)
    .pipe(cronExpression),
  keep: z.int().min(1).max(1_000).default(7),
  className: z.string().min(1).optional(),
});

/** More pods than this of one service would want more connections than a PostgreSQL server gives. */
const replicasMax = 50;

const replicas = z
  .strictObject({ min: z.int().min(1).max(replicasMax), max: z.int().min(1).max(replicasMax) })
  .default({ min: 1, max: 1 })
  .meta({ expected: `{min, max}, whole numbers from 1 to ${replicasMax}` });

const limits = z.strictObject({
  cpus: z.number().min(0.05).max(256),
  memoryMebibytes: z.int().min(64).max(4_194_304),
});

/** The services whose settings a stack may set. */
const services = [
  "node",
  "sidecar",
  "engine-proxy",
  "restore",
  "volume-snapshot",
  "facilitator",
  "resource-server",
  "upstream",
] as const;

/** The services whose limits a stack may set. */
const limited = [...services, "pushgateway", "postgres"] as const;

/** Keys of a stack's configuration that hold a secret; Pulumi stores them encrypted and programs never print them. */
export const secretKeys = [
  "signerPrivateKey",
  "databaseUrl",
  "postgresPassword",
  "domainKey",
  "stabilizingKey",
] as const;

/** A stack's configuration, by the keys of `Pulumi.<stack>.yaml`; ranges and choices that `Pulumi.yaml` can't say stand here. */
export const configSchema = z.strictObject({
  target: z.enum(["docker", "kubernetes"]).default("docker").meta({ expected: "docker or kubernetes" }),
  dockerEngine: z
    .string()
    .regex(/^(unix:\/\/\/|tcp:\/\/|ssh:\/\/|npipe:\/\/).+$/)
    .default("unix:///var/run/docker.sock")
    .meta({ expected: "unix:///path/of/the/socket, tcp://host:port or ssh://user@host" }),
  dockerSocketGroup: z
    .int()
    .min(0)
    .optional()
    .meta({ expected: "the number of the group that may use the engine's socket" }),
  publishAddress: z
    .union([z.ipv4(), z.ipv6()])
    .default("127.0.0.1")
    .meta({ expected: "an IP address of the Docker host" }),
  gatewayPort: port.min(1).default(8_545),
  privateGatewayPort: port.min(1).default(8_547),
  resourceServerPort: port.min(1).default(4_021),
  resourceServerOperationsPort: port.min(1).default(9_601),
  statusPort: port.min(1).default(9_600),
  baseImage: imageReference.default("node:26-bookworm-slim"),
  imageBuilder: z.enum(["auto", "classic", "buildkit"]).default("auto").meta({ expected: "auto, classic or buildkit" }),
  protectData: yesOrNo.default(true),
  gatehouseImage: imageReference.optional(),
  devnetImage: imageReference.optional(),
  nodeImage: imageReference.optional(),
  nodeUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .optional()
    .meta({ expected: "the number of the user that the node's image runs as" }),
  domainKey: nodeKey.optional(),
  stabilizingKey: nodeKey.optional(),
  nodeKeysSecret: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/)
    .optional()
    .meta({ expected: "the name of a Kubernetes Secret with the entries domain.key and stabilizing.key" }),
  nodeKeysDirectory: z
    .string()
    .regex(/^\/[^:]*[^:/]$/)
    .optional()
    .meta({ expected: "an absolute directory of the Docker host with the files domain.key and stabilizing.key" }),
  nodeHealthCommand: z
    .array(z.string().min(1).max(1_000))
    .min(1)
    .max(50)
    .optional()
    .meta({ expected: 'a command that nodeImage has, such as ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/18100"]' }),
  pushgatewayImage: imageReference.optional(),
  pushgatewayUrl: z
    .url({ protocol: /^http$/ })
    .optional()
    .meta({ expected: "an http:// URL of a Pushgateway, such as http://pushgateway.monitoring.svc:9091" }),
  pushgatewayPort: port.min(1).default(9_091),
  nodeVersion: z
    .string()
    .regex(/^v?\d+\.\d+(\.\d+)?([-+][0-9A-Za-z.+-]+)?$/)
    .optional()
    .meta({ expected: "the node's version, such as 0.16.2" }),
  metricsPushIntervalSeconds: seconds.default(10),
  chainId: chainId.default(1_672),
  devAccounts: yesOrNo.default(false),
  signerPrivateKey: privateKey.optional(),
  payTo: address.optional(),
  databaseUrl: z
    .url({ protocol: /^postgres(ql)?$/ })
    .optional()
    .meta({ expected: "a URL like postgresql://user:password@host:5432/database" }),
  apiServerCidr: z
    .union([z.cidrv4(), z.cidrv6()])
    .optional()
    .meta({ expected: "a range of addresses such as 10.1.2.3/32" }),
  databaseCidr: z
    .union([z.cidrv4(), z.cidrv6()])
    .optional()
    .meta({ expected: "a range of addresses such as 10.1.2.0/24" }),
  postgresImage: imageReference.optional(),
  postgresUser: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .default(999)
    .meta({ expected: "the number of the user postgres of postgresImage" }),
  postgresPassword: z
    .string()
    .regex(/^[A-Za-z0-9._~-]{16,64}$/)
    .optional()
    .meta({ expected: "16 to 64 letters, digits and . _ ~ -" }),
  facilitatorReplicas: replicas,
  resourceServerReplicas: replicas,
  tokenAddress: address.optional(),
  tokenName: text("the token's name in its EIP-712 domain").default("USDC"),
  tokenVersion: text("the token's version in its EIP-712 domain").default("2"),
  routes: z.record(z.string(), z.unknown()).default({}).meta({ expected: "routes keyed by <METHOD> <path>" }),
  publicUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({ expected: "an http:// or https:// URL" }),
  namespace: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/)
    .default("gatehouse")
    .meta({ expected: "a Kubernetes namespace: up to 63 small letters, digits and dashes" }),
  kubernetesContext: text("a context of the kubeconfig").optional(),
  renderTo: text("a directory for the rendered YAML").optional(),
  storageClass: text("a storage class of the cluster").optional(),
  nodeRestart: z.enum(["delete-pod", "signal"]).default("delete-pod").meta({ expected: "delete-pod or signal" }),
  peers: z
    .enum(["none", "node-port", "load-balancer", "host-port"])
    .default("none")
    .meta({ expected: "none, node-port, load-balancer or host-port" }),
  peerPort: port.min(1).optional(),
  hostIp: z.union([z.ipv4(), z.ipv6()]).optional().meta({ expected: "the IP address that peers reach the node at" }),
  gatewayApi: gatewayApiSchema
    .optional()
    .meta({ expected: "{name, namespace, gatewayHost, resourceServerHost, …}; see infra/README.md" }),
  ingress: ingressSchema
    .optional()
    .meta({ expected: "{gatewayHost, resourceServerHost, tlsSecret, …}; see infra/README.md" }),
  nodeVolumeGibibytes: z
    .int()
    .min(1)
    .max(1_048_576)
    .default(500)
    .meta({ expected: "the size of the node's volume in GiB, a whole number from 1 to 1048576" }),
  volumeGrowth: volumeGrowth
    .optional()
    .meta({ expected: "{ceilingGibibytes, stepGibibytes, growBelowFreeRatio}; see infra/README.md" }),
  volumeSnapshots: volumeSnapshots.optional().meta({
    expected: '{schedule, keep, className}, with a cron expression in UTC such as "0 3 * * *" and how many are kept',
  }),
  restore: restore
    .optional()
    .meta({ expected: "{url, sha256, strip}: an http(s) URL of a tar archive and its SHA-256 in hexadecimal" }),
  limits: z
    .partialRecord(z.enum(limited), limits)
    .default({})
    .meta({ expected: `{cpus, memoryMebibytes} by service: ${limited.join(", ")}` }),
  settings: z
    .partialRecord(z.enum(services), z.record(z.string(), z.unknown()))
    .default({})
    .meta({ expected: `settings by service: ${services.join(", ")}` }),
});

/** A stack's configuration, parsed. */
export type StackConfig = Readonly<z.output<typeof configSchema>>;
