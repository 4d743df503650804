import { z } from "zod";
import {
  bytes,
  filePath,
  host,
  httpUrl,
  milliseconds,
  nonNegativeInteger,
  port,
  positiveInteger,
  yesOrNo,
} from "#daemon/settings/types.ts";
import { connectionSettings, networks, proxySettings } from "#daemon/http/settings.ts";
import { secret } from "#daemon/secrets/secret.ts";
import { section } from "#daemon/settings/settings.ts";
import { stackServices } from "#daemon/stack-services.ts";
import { memorySection } from "./memory.ts";
import { policyShape, tierName } from "./policy.ts";
import { webSocketSection } from "./web-socket.ts";

/** Loopback and networks outside the public Internet (RFC 1918, 3927, 4193, 4291, 6598), where pod networks are located. */
const privateNetworks = [
  "127.0.0.0/8",
  "10.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "100.64.0.0/10",
  "169.254.0.0/16",
  "::1/128",
  "fc00::/7",
  "fe80::/10",
];

const publicSection = section({
  enabled: yesOrNo.default(true).describe("Enables the anonymous, rate-limited listener"),
  host: host.default("127.0.0.1").describe("Address of the public listener"),
  port: port.default(stackServices.sidecar.ports.rpc).describe("Port of the public listener, HTTP and WebSocket"),
  tier: tierName.default("public").describe("Tier for callers of the public listener"),
});

const privateSection = section({
  enabled: yesOrNo.default(false).describe("Enables the listener for callers with an API key or token"),
  host: host.default("127.0.0.1").describe("Address of the private listener"),
  port: port
    .default(stackServices.sidecar.ports["private-rpc"])
    .describe("Port of the private listener, HTTP and WebSocket"),
});

const internalSection = section({
  enabled: yesOrNo.default(false).describe("Enables the listener for the operator's own clients"),
  host: host.default("127.0.0.1").describe("Address of the internal listener; keep it on loopback or the pod network"),
  port: port.default(8548).describe("Port of the internal listener, HTTP and WebSocket"),
  tier: tierName.default("internal").describe("Tier for callers of the internal listener"),
  networks: networks
    .default(privateNetworks)
    .describe("Addresses allowed to connect to the internal listener; others are rejected on any listen address"),
  allowedHosts: z
    .array(z.string().min(1))
    .max(64)
    .default(["localhost", "127.0.0.1", "[::1]"])
    .describe("Host names (without port) allowed in the Host header; others are rejected (DNS rebinding)")
    .meta({ expected: "up to 64 host names, separated by commas" }),
});

const callersSection = section({
  ...proxySettings,
  keysPath: filePath.optional().describe("JSON5 file with the hashed API keys for the private listener; hot-reloaded"),
  recheckMs: milliseconds
    .default(10_000)
    .describe("Interval for rechecking a WebSocket's key or token; the connection is closed once it is invalid"),
  corsOrigins: z
    .array(z.string().min(1))
    .max(64)
    .optional()
    .describe(
      "Web origins allowed on the public and private listeners; * allows all, empty allows none. Default: all, but none for a loopback listener",
    )
    .meta({ expected: "up to 64 origins such as https://app.example, separated by commas, or *" }),
});

const jwtSection = section({
  jwksUrl: httpUrl.optional().describe("URL of the JWKS that verifies callers' tokens"),
  jwksPath: filePath.optional().describe("JWKS file that verifies callers' tokens; hot-reloaded"),
  issuer: z.string().min(1).optional().describe("Required token issuer").meta({ expected: "a token issuer" }),
  audience: z.string().min(1).optional().describe("Required token audience").meta({ expected: "a token audience" }),
  tierClaim: z
    .string()
    .min(1)
    .default("tier")
    .describe("Token claim that specifies the caller's tier")
    .meta({ expected: "the name of a claim" }),
  refetchMs: milliseconds
    .default(30_000)
    .describe("Min age of the JWKS before a token with an unknown key triggers a refetch"),
  keysCheckMs: milliseconds
    .default(60_000)
    .describe("Refresh interval for jwksUrl; tokens signed with a removed key are valid until then at most"),
  keysKeptMs: milliseconds
    .default(600_000)
    .describe(
      "How long the JWKS from jwksUrl stays valid while it cannot be fetched; after that all tokens are rejected",
    ),
  cacheEntries: positiveInteger.default(10_000).describe("Max cached verified tokens"),
});

const rateStoreSection = section({
  redisUrl: secret(z.url({ protocol: /^rediss?$/ }).meta({ expected: "a redis:// or rediss:// URL" }))
    .optional()
    .describe("Redis-compatible store that shares rate limits across replicas; default: limits per process"),
  timeoutMs: milliseconds
    .default(100)
    .describe("Timeout for the store, after which the process applies its own limits"),
  clients: positiveInteger.default(100_000).describe("Max clients whose rates are tracked in the process"),
});

const upstreamSection = section({
  connections: positiveInteger.default(64).describe("Max keep-alive connections to the node"),
  heldConnections: positiveInteger
    .default(16)
    .describe(
      "Max node connections with responses buffered for slow clients; beyond it, the caller with the most such connections loses its oldest",
    ),
  queuedCalls: positiveInteger
    .default(4_096)
    .describe(
      "Max calls queued for a node connection, and max calls queued while their caller is at its concurrency limit",
    ),
  queuedCallsPerCaller: positiveInteger
    .default(1_024)
    .describe("Max calls per caller in each of these queues; callers are served round-robin"),
  connectTimeoutMs: milliseconds.default(2_000).describe("Timeout for connecting to the node"),
  idleTimeoutMs: milliseconds
    .default(4_000)
    .describe("Idle timeout for connections to the node; keep it below the node's own"),
  batchItems: positiveInteger
    .max(1_000)
    .optional()
    .describe(
      "Max reads from a client batch sent to the node in one batch; 1: each is sent alone. Default: the limit of the node's family, else 100",
    ),
  batchResponseBytes: bytes
    .default(2_097_152)
    .describe(
      "Max bytes read from the node's response to one batch; reads without a response within it are sent alone",
    ),
});

const headSection = section({
  pollIntervalMs: milliseconds.default(500).describe("Interval for polling the head while newHeads is unavailable"),
  staleAfterMs: milliseconds
    .default(30_000)
    .describe("Time without head updates after which head-dependent caching stops"),
  timeoutMs: milliseconds.default(2_000).describe("Timeout for the node to report its head"),
  tellAgeAfterMs: nonNegativeInteger
    .max(86_400_000)
    .default(30_000)
    .describe(
      "Age of the node's latest block from which HTTP responses report it, in milliseconds (X-Gatehouse-Head-Age)",
    ),
});

const cacheSection = section({
  enabled: yesOrNo.default(true).describe("Enables the response cache"),
  coalesce: yesOrNo.default(true).describe("Merges identical in-flight reads into one call to the node"),
  totalBytes: bytes.default(67_108_864).describe("Max total size of cached responses"),
  entryBytes: bytes
    .default(262_144)
    .describe("Max size of a response that is cached or shared between identical reads"),
});

const listenerSection = section({
  ...connectionSettings,
  requestTimeoutMs: milliseconds.default(15_000).describe("Timeout for receiving a complete request"),
  idleTimeoutMs: milliseconds.default(65_000).describe("Idle timeout for client connections"),
  slowReaderTimeoutMs: milliseconds
    .default(15_000)
    .describe(
      "How long a client may read nothing, or less than 64 KiB, of pending responses before its connection is closed",
    ),
  fastPath: yesOrNo
    .default(true)
    .describe("Parses common requests on the raw socket; disable it to rule it out as a cause"),
});

const tracingSection = section({
  otlpUrl: httpUrl
    .optional()
    .describe("OTLP/HTTP endpoint for spans, such as http://collector:4318/v1/traces; default: no spans"),
  authorization: secret(z.string().min(1).max(4_096).meta({ expected: "the value of an Authorization header" }))
    .optional()
    .describe("Authorization header for sending spans"),
  serviceName: z
    .string()
    .min(1)
    .default("gatehouse-gateway")
    .describe("Service name for spans")
    .meta({ expected: "a name" }),
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe("Ratio of traces that are sampled; private and internal callers may request sampling by traceparent")
    .meta({ expected: "a number from 0 to 1" }),
  queuedSpans: positiveInteger
    .max(1_000_000)
    .default(4_096)
    .describe("Max spans queued for sending; further spans are dropped"),
  timeoutMs: milliseconds.default(5_000).describe("Timeout for sending spans"),
});

/** All settings of the gateway. Those that `policyPath` can change at runtime are in `policy.ts`. */
export const gatewayShape = {
  public: publicSection,
  private: privateSection,
  internal: internalSection,
  callers: callersSection,
  jwt: jwtSection,
  rateStore: rateStoreSection,
  listener: listenerSection,
  upstream: upstreamSection,
  head: headSection,
  cache: cacheSection,
  memory: memorySection,
  webSocket: webSocketSection,
  tracing: tracingSection,
  policyPath: filePath
    .optional()
    .describe(`JSON5 file with any of ${Object.keys(policyShape).join(", ")}; hot-reloaded`),
  ...policyShape,
};

/** The gateway's settings as a section of the sidecar's settings. */
export const gatewaySection = section(gatewayShape);

/** The gateway's settings, parsed and frozen. */
export type GatewaySettings = z.output<typeof gatewaySection>;
