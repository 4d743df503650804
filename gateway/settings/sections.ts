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
import { section, derived, fixed } from "#daemon/settings/section.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import { policyFields, ratio } from "./policy.ts";

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
  port: port.default(defaultPorts.sidecar.rpc).describe("Port of the public listener, HTTP and WebSocket"),
});

const privateSection = section({
  enabled: yesOrNo.default(false).describe("Enables the listener for callers with an API key or token"),
  host: host.default("127.0.0.1").describe("Address of the private listener"),
  port: port.default(defaultPorts.sidecar["private-rpc"]).describe("Port of the private listener, HTTP and WebSocket"),
});

const internalSection = section({
  enabled: yesOrNo.default(false).describe("Enables the listener for the operator's own clients"),
  host: host.default("127.0.0.1").describe("Address of the internal listener; keep it on loopback or the pod network"),
  port: port
    .default(defaultPorts.gateway["internal-rpc"])
    .describe("Port of the internal listener, HTTP and WebSocket"),
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

const forPrivateListener = { needs: "private.enabled" };

const callersSection = section({
  ...proxySettings,
  keysPath: filePath
    .optional()
    .describe("JSON5 file with the hashed API keys for the private listener; hot-reloaded")
    .meta(forPrivateListener),
  /** Interval for rechecking a WebSocket's key or token. */
  recheckMs: fixed(10_000),
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
  jwksUrl: httpUrl.optional().describe("URL of the JWKS that verifies callers' tokens").meta(forPrivateListener),
  jwksPath: filePath
    .optional()
    .describe("JWKS file that verifies callers' tokens; hot-reloaded")
    .meta(forPrivateListener),
  issuer: z.string().min(1).optional().describe("Required token issuer").meta({ expected: "a token issuer" }),
  audience: z.string().min(1).optional().describe("Required token audience").meta({ expected: "a token audience" }),
  tierClaim: z
    .string()
    .min(1)
    .default("tier")
    .describe("Token claim that specifies the caller's tier")
    .meta({ expected: "the name of a claim" }),
  /** Min age of the JWKS before a token with an unknown key triggers a refetch. */
  refetchMs: fixed(30_000),
  /** Refresh interval for jwksUrl. */
  keysCheckMs: fixed(60_000),
  /** How long the JWKS from jwksUrl stays valid while it cannot be fetched. */
  keysKeptMs: fixed(600_000),
  /** Max cached verified tokens. */
  cacheEntries: fixed(10_000),
});

const rateStoreSection = section({
  redisUrl: secret(z.url({ protocol: /^rediss?$/ }).meta({ expected: "a redis:// or rediss:// URL" }))
    .optional()
    .describe("Redis-compatible store that shares rate limits across replicas; default: limits per process"),
  /** Timeout for the store, after which the process applies its own limits. */
  timeoutMs: fixed(100),
  /** Max clients whose rates are tracked in the process. */
  clients: fixed(100_000),
});

const upstreamSection = section({
  connections: positiveInteger.default(64).describe("Max keep-alive connections to the node"),
  /** Max node connections with responses buffered for slow clients. */
  heldConnections: fixed(16),
  /** Max calls queued for a node connection, and max calls queued by each of the concurrency limits of a caller and of heavy calls. */
  queuedCalls: fixed(4_096),
  /** Max calls per caller in each of these queues. */
  queuedCallsPerCaller: fixed(1_024),
  /** Timeout for connecting to the node. */
  connectTimeoutMs: fixed(2_000),
  /** Idle timeout for connections to the node, below that of common nodes (5 seconds). */
  idleTimeoutMs: fixed(4_000),
  batchItems: positiveInteger
    .max(1_000)
    .optional()
    .describe(
      "Max reads from a client batch sent to the node in one batch; 1: each is sent alone. Default: the limit of the node's family, else 100",
    ),
  /** Max bytes read from the node's response to one batch. */
  batchResponseBytes: fixed(2_097_152),
});

const headSection = section({
  /** Interval for polling the head while newHeads is unavailable. */
  pollIntervalMs: fixed(500),
  /** Time without head updates after which head-dependent caching stops. */
  staleAfterMs: fixed(30_000),
  /** Timeout for the node to report its head. */
  timeoutMs: fixed(2_000),
  /** Age of the node's latest block from which HTTP responses report it, in milliseconds (X-Gatehouse-Head-Age). */
  tellAgeAfterMs: fixed(30_000),
});

const cacheSection = section({
  totalBytes: nonNegativeInteger
    .default(67_108_864)
    .describe("Max total size of cached responses; 0: no cache")
    .meta({ expected: "bytes, a whole number, 0 or more" }),
  /** Max size of a response that is cached or shared between identical reads. */
  entryBytes: fixed(262_144),
});

const memorySection = section({
  totalBytes: bytes
    .optional()
    .describe(
      "Max bytes buffered for all clients and in the cache, at most half for one address (IPv6: /64) and a quarter for one connection; default: a quarter of the process's memory limit or of its heap limit, whichever is less, at most 1 GiB",
    ),
  addressBytes: derived(),
  connectionBytes: derived(),
});

/** The gateway's WebSockets: connections from its clients, and the one to the node. */
const webSocketSection = section({
  /** Max WebSocket clients per listener. */
  clients: fixed(10_000),
  /** Max in-flight calls per WebSocket client. */
  callsInFlight: fixed(64),
  /** Max WebSocket message size for tiers that set none; never above limits.bodyBytes. */
  messageBytes: fixed(1_048_576),
  /** Unsent bytes (excluding responses) above which a slow WebSocket client's calls wait, and it is dropped. */
  queueBytes: fixed(4_194_304),
  /** Max distinct subscriptions on the node for all clients. */
  upstreamSubscriptions: fixed(1_024),
  /** Max of these subscriptions created by one caller's clients. */
  upstreamSubscriptionsPerCaller: fixed(128),
  pingIntervalMs: fixed(30_000),
  /** Initial delay before reconnecting to the node's WebSocket. */
  reconnectMs: fixed(500),
  /** Max delay between reconnects to the node's WebSocket. */
  reconnectMaxMs: fixed(30_000),
  /** Max outage of the node connection after which subscribers still get missed events. */
  bridgeMs: fixed(10_000),
  /** Max missed blocks sent to subscribers after a reconnect. */
  bridgeBlocks: fixed(64),
});

const listenerSection = section({
  ...connectionSettings,
  /** Timeout for receiving a complete request. */
  requestTimeoutMs: fixed(15_000),
  idleTimeoutMs: milliseconds.default(65_000).describe("Idle timeout for client connections"),
  /** How long a client may read nothing, or less than 64 KiB, of pending responses before its connection is closed. */
  slowReaderTimeoutMs: fixed(15_000),
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
    .describe("Authorization header for sending spans")
    .meta({ needs: "otlpUrl" }),
  serviceName: fixed("gatehouse-gateway"),
  sampleRatio: ratio
    .default(0.1)
    .describe("Ratio of traces that are sampled; private and internal callers may request sampling by traceparent")
    .meta({ needs: "otlpUrl" }),
  queuedSpans: fixed(4_096),
  /** Timeout for sending spans. */
  timeoutMs: fixed(5_000),
});

/** All settings of the gateway. Those that `policyPath` can change at runtime are in `policy.ts`. */
export const gatewayFields = {
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
    .describe(`JSON5 file with any of ${Object.keys(policyFields).join(", ")}; hot-reloaded`),
  ...policyFields,
};

export const gatewaySection = section(gatewayFields);

export type GatewaySettings = z.output<typeof gatewaySection>;
