import { z } from "zod";
import { bytes, nonNegativeInteger, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";

export const tierName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/)
  .meta({ expected: "a tier's name: a lowercase letter, then up to 31 lowercase letters, digits and hyphens" });

export const ratio = z.number().min(0).max(1).meta({ expected: "a number from 0 to 1" });

const methodName = z.string().regex(/^[\w.]{1,64}$/);

const tier = z.strictObject({
  requestsPerSecond: z.number().positive().max(10_000_000),
  requestBurst: z.int().min(1),
  computeUnitsPerSecond: z.number().positive().max(1_000_000_000),
  computeUnitBurst: z.int().min(1),
  concurrency: z.int().min(1),
  /** Max blocks in one eth_getLogs call; default: `ranges.logsBlocks`. */
  logsBlocks: z.int().min(1).optional(),
  /** Max blocks in one trace_filter call; default: `ranges.traceBlocks`. */
  traceBlocks: z.int().min(1).optional(),
  /** Max blocks in a range that exceeds the cap but is split into permitted pieces; absent: never split. */
  splitBlocks: z.int().min(1).optional(),
  webSockets: z.int().min(0).default(16),
  subscriptions: z.int().min(0).default(64),
  /** Max size of a WebSocket message; default: `webSocket.messageBytes`. */
  messageBytes: z.int().min(1).max(268_435_456).optional(),
  /** Methods that the tier may call, out of those on its listener; absent: all. */
  methods: z.array(methodName).max(256).optional(),
});

export type Tier = Readonly<z.output<typeof tier>>;

/** A caller of the public or the private listener may have fewer in-flight calls than `upstream.connections`, so that no single caller can occupy them all. */
const tiers = z
  .record(tierName, tier)
  .default({
    public: {
      requestsPerSecond: 300,
      requestBurst: 1_500,
      computeUnitsPerSecond: 6_000,
      computeUnitBurst: 60_000,
      concurrency: 48,
      webSockets: 16,
      subscriptions: 64,
    },
    paid: {
      requestsPerSecond: 3_000,
      requestBurst: 9_000,
      computeUnitsPerSecond: 60_000,
      computeUnitBurst: 240_000,
      concurrency: 56,
      splitBlocks: 2_000,
      webSockets: 64,
      subscriptions: 256,
    },
    internal: {
      requestsPerSecond: 1_000_000,
      requestBurst: 1_000_000,
      computeUnitsPerSecond: 100_000_000,
      computeUnitBurst: 100_000_000,
      concurrency: 4_096,
      webSockets: 256,
      subscriptions: 1_024,
    },
  })
  .describe("Limits per tier name")
  .meta({
    expected:
      "an object of tiers, each with requestsPerSecond, requestBurst, computeUnitsPerSecond, … (see the README)",
  });

const methodChange = z.strictObject({
  audience: z.enum(["public", "private", "internal", "nobody"]).optional(),
  costUnits: z.int().min(0).optional(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
  /** Max size of the params as JSON text; can't exceed `limits.callBytes`. */
  paramsBytes: z.int().min(2).max(268_435_456).optional(),
  /** false: the result is neither cached nor shared between identical reads. */
  cache: z.boolean().optional(),
});

/** An operator's changes to a method, or properties of a method that the catalogue lacks. */
export type MethodChange = Readonly<z.output<typeof methodChange>>;

const methods = z
  .record(methodName, methodChange)
  .default({})
  .describe(
    "Overrides of the method catalogue, by method: audience, costUnits, timeoutMs, paramsBytes, cache; new names are added",
  )
  .meta({ expected: 'an object such as { net_listening: { audience: "public" } }' });

const unknownMethodsOf = (listener: string) =>
  z
    .enum(["reject", "forward"])
    .default("reject")
    .describe(`How the ${listener} listener handles methods missing from the catalogue`)
    .meta({ expected: "reject or forward" });

const unknownMethods = section({ private: unknownMethodsOf("private"), internal: unknownMethodsOf("internal") });

const rateLimit = section({
  enabled: yesOrNo.default(true).describe("Enables rate limits; when disabled, eth_getLogs uses its fallback cap"),
  /** Compute units per whole KiB of a call, on top of its method's cost. */
  unitsPerKiB: fixed(2),
  /** Compute units per whole KiB of a response beyond freeAnswerKiB. */
  unitsPerAnswerKiB: fixed(1),
  /** Gas covered by one compute unit in calls that specify gas. */
  gasPerUnit: fixed(500_000),
  /** Compute units per millisecond of the node's time for calls that run contract code, beyond their cost. */
  unitsPerNodeMs: fixed(1),
  /** KiB of each response covered by the method's cost. */
  freeAnswerKiB: fixed(16),
});

const ranges = section({
  logsBlocks: positiveInteger.default(100).describe("Max blocks per eth_getLogs while rate limits are enabled"),
  /** Max blocks per eth_getLogs while rate limits are disabled. */
  logsFallbackBlocks: fixed(10_000),
  /** Max blocks per trace_filter. */
  traceBlocks: fixed(500),
  /** Max pieces of a split range requested concurrently. */
  splitParallel: fixed(4),
});

const limits = section({
  bodyBytes: bytes
    .max(268_435_456)
    .default(5_242_880)
    .describe("Max request body size; a WebSocket message has at most 1 MiB if its tier sets none"),
  /** Max size of a single call, alone or in a batch. */
  callBytes: fixed(524_288),
  /** Max total of values, keys and escaped characters per call. */
  callValues: fixed(20_000),
  /** Max params size for methods that have no own limit in the catalogue or gateway.methods. */
  paramsBytes: fixed(4_096),
  batchItems: positiveInteger.default(1_000).describe("Max calls per batch"),
  /** Max concurrent calls per batch, besides reads batched together (upstream.batchItems). */
  batchParallel: fixed(16),
  /** Max response bytes per batch, and per response over WebSocket. */
  batchResponseBytes: fixed(26_214_400),
  responseBytes: bytes.default(134_217_728).describe("Max size of a forwarded node response"),
  traceCallOverrides: yesOrNo
    .default(false)
    .describe("Whether debug_traceCall accepts stateOverrides, blockOverrides and txIndex in its options"),
  callGas: positiveInteger
    .default(50_000_000)
    .describe("Max gas for a call; higher values are lowered to it, like geth's --rpc.gascap"),
  /** Max nesting depth of arrays and objects in a request. */
  depth: fixed(256),
});

const overload = section({
  /** How long a call waits at its tier's concurrency limit, or at that of heavy calls, before it is rejected. */
  waitMs: fixed(5_000),
  callsInFlight: positiveInteger
    .default(2_048)
    .describe("In-flight calls to the node above which all calls are rejected"),
  /** In-flight calls to the node above which heavy calls are rejected. */
  heavyCallsInFlight: fixed(256),
  heavyCostUnits: fixed(75),
  heavyParallel: positiveInteger.default(16).describe("Max concurrent heavy calls to the node; others wait up to 5 s"),
  /** Event loop delay above which heavy calls are rejected. */
  loopDelayMs: fixed(200),
  /** Retry-After for calls rejected at overload. */
  retryAfterSeconds: fixed(1),
});

const behind = section({
  reads: z
    .enum(["reject", "serve"])
    .default("reject")
    .describe(
      "Response to chain reads while the node is stalled but lag.references are not, or while it lags behind them: reject, an immediate error; serve, the node's current data",
    )
    .meta({ expected: "reject or serve" }),
});

const accessLog = section({
  sampleRatio: ratio.default(0).describe("Ratio of calls in the access log; parameters are never logged"),
  slowMs: nonNegativeInteger.default(2_000).describe("Duration from which a call is logged as slow; 0: never"),
});

/** Settings that can change at runtime; together they form the policy. */
export const policyFields = { tiers, methods, unknownMethods, rateLimit, ranges, limits, overload, behind, accessLog };

/** The policy as defined by settings; omitted keys get their defaults. */
export const policySchema = z.strictObject(policyFields);

export type PolicySettings = Readonly<z.output<typeof policySchema>>;
