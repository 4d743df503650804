import { z } from "zod";
import { bytes, milliseconds, nonNegativeInteger, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";
import { reservedCodes, rpcCodes } from "../errors.ts";

export const tierName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/)
  .meta({ expected: "a tier's name: a small letter, then up to 31 small letters, digits and hyphens" });

const methodName = z.string().regex(/^[\w.]{1,64}$/);

/** Limits for the callers of one tier. */
const tier = z.strictObject({
  requestsPerSecond: z.number().positive().max(10_000_000),
  requestBurst: z.int().min(1),
  computeUnitsPerSecond: z.number().positive().max(1_000_000_000),
  computeUnitBurst: z.int().min(1),
  concurrency: z.int().min(1),
  /** Max blocks of one eth_getLogs; default: `ranges.logsBlocks`. */
  logsBlocks: z.int().min(1).optional(),
  /** Max blocks of one trace_filter; default: `ranges.traceBlocks`. */
  traceBlocks: z.int().min(1).optional(),
  /** Max blocks of a range over the cap that is split into permitted pieces; absent: never split. */
  splitBlocks: z.int().min(1).optional(),
  webSockets: z.int().min(0).default(16),
  subscriptions: z.int().min(0).default(64),
  /** Max size of a WebSocket message; default: `webSocket.messageBytes`. */
  messageBytes: z.int().min(1).max(268_435_456).optional(),
  /** Methods that the tier may call, out of its listener's; absent: all. */
  methods: z.array(methodName).max(256).optional(),
});

/** One tier's limits. */
export type Tier = Readonly<z.output<typeof tier>>;

/** Callers of the public and the private listener may have fewer in-flight calls than `upstream.connections`: none can occupy them all. */
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
  .describe("Limits of each tier of callers, by the tier's name")
  .meta({
    expected:
      "an object of tiers, each with requestsPerSecond, requestBurst, computeUnitsPerSecond, … (see the README)",
  });

const methodChange = z.strictObject({
  audience: z.enum(["public", "private", "internal", "nobody"]).optional(),
  costUnits: z.int().min(0).optional(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
  /** Max size of the params as JSON text; never more than `limits.callBytes`. */
  paramsBytes: z.int().min(2).max(268_435_456).optional(),
  /** false: neither cached nor shared between identical reads. */
  cache: z.boolean().optional(),
});

/** An operator's changes to a method, or properties of a method that the catalogue lacks. */
export type MethodChange = Readonly<z.output<typeof methodChange>>;

const methods = z
  .record(methodName, methodChange)
  .default({})
  .describe(
    "Changes to the method catalogue by method: audience, costUnits, timeoutMs, paramsBytes, cache; new names are added",
  )
  .meta({ expected: 'an object such as { net_listening: { audience: "public" } }' });

const unknownMethods = section({
  private: z
    .enum(["refuse", "forward"])
    .default("refuse")
    .describe("What the private listener does with methods that the catalogue lacks")
    .meta({ expected: "refuse or forward" }),
  internal: z
    .enum(["refuse", "forward"])
    .default("refuse")
    .describe("What the internal listener does with methods that the catalogue lacks")
    .meta({ expected: "refuse or forward" }),
});

const rateLimit = section({
  enabled: yesOrNo.default(true).describe("Whether callers' rates are limited; off, eth_getLogs has its fallback cap"),
  unitsPerKiB: nonNegativeInteger
    .max(1_000)
    .default(2)
    .describe(
      "Compute units that each whole KiB of a call costs on top of its method's; of a message over 64 KiB, each KiB",
    ),
  unitsPerAnswerKiB: nonNegativeInteger
    .max(1_000)
    .default(1)
    .describe(
      "Compute units that each whole KiB of an answer costs beyond freeAnswerKiB; owed, and paid before the next call",
    ),
  gasPerUnit: positiveInteger
    .default(500_000)
    .describe("Gas that a compute unit buys in a call that names its gas; what its method costs is the least"),
  freeAnswerKiB: nonNegativeInteger
    .max(1_048_576)
    .default(16)
    .describe("KiB of each answer that its method's cost pays for"),
});

const ranges = section({
  logsBlocks: positiveInteger.default(100).describe("Blocks of one eth_getLogs while rates are limited"),
  logsFallbackBlocks: positiveInteger.default(10_000).describe("Blocks of one eth_getLogs while rates are not limited"),
  traceBlocks: positiveInteger.default(500).describe("Blocks of one trace_filter"),
  errorCode: z
    .int()
    .min(reservedCodes.lowest)
    .max(reservedCodes.highest)
    .default(rpcCodes.invalidParams)
    .describe(`JSON-RPC error code of a block range over its cap; some programs look for ${rpcCodes.limitExceeded}`)
    .meta({ expected: `a whole number from ${reservedCodes.lowest} to ${reservedCodes.highest}` }),
  splitParallel: positiveInteger.max(64).default(4).describe("Pieces of one split range that are requested at a time"),
});

const limits = section({
  bodyBytes: bytes
    .max(268_435_456)
    .default(5_242_880)
    .describe("Largest request body; of a WebSocket message, see webSocket.messageBytes"),
  callBytes: bytes
    .max(268_435_456)
    .default(524_288)
    .describe("Largest single call, alone or in a batch; what is larger is refused unread"),
  callValues: positiveInteger
    .max(10_000_000)
    .default(20_000)
    .describe("Most values, keys and escaped characters in one call, together"),
  paramsBytes: bytes
    .max(268_435_456)
    .default(4_096)
    .describe("Largest params of a method for which neither the catalogue nor gateway.methods has another size"),
  batchItems: positiveInteger.default(1_000).describe("Most calls in one batch"),
  batchParallel: positiveInteger
    .max(256)
    .default(16)
    .describe(
      "Calls of one batch that are under way at a time, besides the reads that go together (upstream.batchItems)",
    ),
  batchResponseBytes: bytes
    .default(26_214_400)
    .describe("Bytes of one batch's answers, and of one answer over WebSocket; calls beyond are refused"),
  responseBytes: bytes.default(134_217_728).describe("Largest answer of the node that is passed on"),
  traceCallOverrides: yesOrNo
    .default(false)
    .describe("Whether debug_traceCall takes stateOverrides, blockOverrides and txIndex in its options"),
  callGas: positiveInteger
    .default(50_000_000)
    .describe("Most gas that a call may name; one that names more gets that much, as by geth's --rpc.gascap"),
  depth: positiveInteger.max(10_000).default(256).describe("Deepest nesting of arrays and objects in a request"),
});

const overload = section({
  waitMs: milliseconds
    .default(5_000)
    .describe(
      "How long a call waits while its caller has as many in flight as its tier's concurrency; then it is refused",
    ),
  callsInFlight: positiveInteger.default(2_048).describe("Calls to the node under way, from which all are refused"),
  heavyCallsInFlight: positiveInteger
    .default(256)
    .describe("Calls to the node under way, from which heavy ones are refused"),
  heavyCostUnits: positiveInteger.default(75).describe("Cost from which a call counts as heavy"),
  heavyParallel: positiveInteger.default(16).describe("Heavy calls to the node under way at a time"),
  loopDelayMs: milliseconds
    .default(200)
    .describe("Delay of the gateway's own event loop from which heavy calls are refused"),
  retryAfterSeconds: positiveInteger.max(3_600).default(1).describe("Retry-After of a call refused at overload"),
});

const behind = section({
  reads: z
    .enum(["refuse", "serve"])
    .default("refuse")
    .describe(
      "What reads of the chain get while the node stalls and lag.references do not, or it is behind them: refuse, an error at once; serve, what it has",
    )
    .meta({ expected: "refuse or serve" }),
});

const accessLog = section({
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Share of calls that the access log shows, without parameters")
    .meta({ expected: "a number from 0 to 1" }),
  slowMs: nonNegativeInteger.default(2_000).describe("Time from which a call is logged as slow; 0: never"),
});

/** Settings that can change at runtime; together they form the policy. */
export const policyShape = { tiers, methods, unknownMethods, rateLimit, ranges, limits, overload, behind, accessLog };

/** The policy as defined by settings; omitted keys get their defaults. */
export const policySchema = z.strictObject(policyShape);

/** The policy's settings, parsed and frozen. */
export type PolicySettings = Readonly<z.output<typeof policySchema>>;
