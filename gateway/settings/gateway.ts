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

/** Loopback and networks outside the public Internet (RFC 1918, 3927, 4193, 4291, 6598), where pod networks are. */
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
  enabled: yesOrNo.default(true).describe("Whether the anonymous, limited listener runs"),
  host: host.default("127.0.0.1").describe("Address of the public listener"),
  port: port.default(stackServices.sidecar.ports.rpc).describe("Port of the public listener, HTTP and WebSocket"),
  tier: tierName.default("public").describe("Tier of the public listener's callers"),
});

const privateSection = section({
  enabled: yesOrNo.default(false).describe("Whether the listener for callers with an API key or a token runs"),
  host: host.default("127.0.0.1").describe("Address of the private listener"),
  port: port
    .default(stackServices.sidecar.ports["private-rpc"])
    .describe("Port of the private listener, HTTP and WebSocket"),
});

const internalSection = section({
  enabled: yesOrNo.default(false).describe("Whether the listener for the operator's own programs runs"),
  host: host.default("127.0.0.1").describe("Address of the internal listener; keep it on loopback or the pod network"),
  port: port.default(8548).describe("Port of the internal listener, HTTP and WebSocket"),
  tier: tierName.default("internal").describe("Tier of the internal listener's callers"),
  networks: networks
    .default(privateNetworks)
    .describe("Addresses that may connect to the internal listener; others are refused wherever it listens"),
  allowedHosts: z
    .array(z.string().min(1))
    .max(64)
    .default(["localhost", "127.0.0.1", "[::1]"])
    .describe("Host names, without port, that a request's Host may name; others are refused (DNS rebinding)")
    .meta({ expected: "up to 64 host names, separated by commas" }),
});

const callersSection = section({
  ...proxySettings,
  keysPath: filePath
    .optional()
    .describe("JSON5 file with the hashed API keys of the private listener; read again whenever it changes"),
  recheckMs: milliseconds
    .default(10_000)
    .describe("Time between two looks whether the key or token of a WebSocket is still good; else it is closed"),
  corsOrigins: z
    .array(z.string().min(1))
    .max(64)
    .optional()
    .describe(
      "Web origins that may call the public and the private listener; * means all, empty means none. Default: all, but none for a listener on loopback",
    )
    .meta({ expected: "up to 64 origins such as https://app.example, separated by commas, or *" }),
});

const jwtSection = section({
  jwksUrl: httpUrl.optional().describe("URL of the key set that signs callers' tokens"),
  jwksPath: filePath
    .optional()
    .describe("File with the key set that signs callers' tokens; read again whenever it changes"),
  issuer: z.string().min(1).optional().describe("Issuer that tokens must name").meta({ expected: "a token issuer" }),
  audience: z
    .string()
    .min(1)
    .optional()
    .describe("Audience that tokens must name")
    .meta({ expected: "a token audience" }),
  tierClaim: z
    .string()
    .min(1)
    .default("tier")
    .describe("Claim of a token that names the caller's tier")
    .meta({ expected: "the name of a claim" }),
  refetchMs: milliseconds
    .default(30_000)
    .describe("Time from reading the key set to reading it again for a token with a key that it lacks"),
  keysCheckMs: milliseconds
    .default(60_000)
    .describe("Time between two readings of the key set at jwksUrl: tokens of a key that has left it end by then"),
  keysKeptMs: milliseconds
    .default(600_000)
    .describe("How long the key set at jwksUrl is good while it can't be read; after that no token is taken"),
  cacheEntries: positiveInteger.default(10_000).describe("Verified tokens that are remembered"),
});

const rateStoreSection = section({
  redisUrl: secret(z.url({ protocol: /^rediss?$/ }).meta({ expected: "a redis:// or rediss:// URL" }))
    .optional()
    .describe("Redis-protocol store that makes rate limits hold across replicas; default: limits per process"),
  timeoutMs: milliseconds.default(100).describe("Time after which the store is passed over and the process decides"),
  clients: positiveInteger.default(100_000).describe("Clients whose rates are remembered in the process"),
});

const upstreamSection = section({
  connections: positiveInteger.default(64).describe("Most keep-alive connections to the node"),
  heldConnections: positiveInteger
    .default(16)
    .describe(
      "Connections to the node whose answers may wait for clients to take them; with one more, the caller with the most loses the one that has waited longest",
    ),
  queuedCalls: positiveInteger
    .default(4_096)
    .describe("Calls that may wait for a connection to the node, and as many for others of their callers"),
  queuedCallsPerCaller: positiveInteger
    .default(1_024)
    .describe(
      "Calls of one caller that may wait for a connection to the node, and for its others; callers are served by turns",
    ),
  connectTimeoutMs: milliseconds.default(2_000).describe("How long connecting to the node may take"),
  idleTimeoutMs: milliseconds
    .default(4_000)
    .describe("Idle time after which a connection to the node is closed; keep it under the node's own"),
  batchItems: positiveInteger
    .max(1_000)
    .optional()
    .describe(
      "Reads of a client's batch that go to the node in one batch; 1: each goes alone. Default: as many as its family of nodes takes, else 100",
    ),
  batchResponseBytes: bytes
    .default(2_097_152)
    .describe(
      "Bytes of the node's answer to one batch that are read; reads that have no answer in them go to it alone",
    ),
});

const headSection = section({
  pollIntervalMs: milliseconds
    .default(500)
    .describe("Time between two looks at the head while newHeads is unavailable"),
  staleAfterMs: milliseconds
    .default(30_000)
    .describe("Time without word of the head after which nothing is cached by it"),
  timeoutMs: milliseconds.default(2_000).describe("How long the node may take to report its head"),
  tellAgeAfterMs: nonNegativeInteger
    .max(86_400_000)
    .default(30_000)
    .describe(
      "Age of the node's latest block from which answers over HTTP report it (X-Gatehouse-Head-Age), in milliseconds",
    ),
});

const cacheSection = section({
  enabled: yesOrNo.default(true).describe("Whether answers are cached"),
  coalesce: yesOrNo.default(true).describe("Whether identical reads in flight become one call to the node"),
  totalBytes: bytes.default(67_108_864).describe("Most bytes of cached answers"),
  entryBytes: bytes.default(262_144).describe("Largest answer that is cached or shared between identical reads"),
});

const listenerSection = section({
  ...connectionSettings,
  requestTimeoutMs: milliseconds.default(15_000).describe("How long a client may take to send a whole request"),
  idleTimeoutMs: milliseconds.default(65_000).describe("Idle time after which a client's connection is closed"),
  slowReaderTimeoutMs: milliseconds
    .default(15_000)
    .describe(
      "How long a client may take nothing, or less than 64 KiB, of answers that wait for it; then its connection is closed",
    ),
  fastPath: yesOrNo.default(true).describe("Whether common requests are read on the raw socket; off to rule it out"),
});

const tracingSection = section({
  otlpUrl: httpUrl
    .optional()
    .describe("OTLP/HTTP endpoint that spans are sent to, such as http://collector:4318/v1/traces; default: no spans"),
  authorization: secret(z.string().min(1).max(4_096).meta({ expected: "the value of an Authorization header" }))
    .optional()
    .describe("Authorization header that spans are sent with"),
  serviceName: z
    .string()
    .min(1)
    .default("gatehouse-gateway")
    .describe("Name under which spans are shown")
    .meta({ expected: "a name" }),
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe("Share of traces of which spans are made; private and internal callers may request theirs by traceparent")
    .meta({ expected: "a number from 0 to 1" }),
  queuedSpans: positiveInteger.max(1_000_000).default(4_096).describe("Spans that wait to be sent; more are dropped"),
  timeoutMs: milliseconds.default(5_000).describe("How long sending spans may take"),
});

/** All settings of the gateway. Those that `policyPath` may change at runtime are in `policy.ts`. */
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
    .describe(`JSON5 file with any of ${Object.keys(policyShape).join(", ")}; takes effect as it changes`),
  ...policyShape,
};

/** The gateway's settings as one section of the sidecar's settings. */
export const gatewaySection = section(gatewayShape);

/** The gateway's settings, parsed and frozen. */
export type GatewaySettings = z.output<typeof gatewaySection>;
