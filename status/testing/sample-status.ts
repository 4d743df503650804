const at = "2026-01-01T12:00:00.000Z";
const fresh = { at: "2026-01-01T11:59:59.000Z", old: false };

/** The status of a node in state `right`, as reported by its sidecar. */
export const rightStatus = {
  at,
  right: true,
  node: {
    name: "node-7",
    rpc: "http://127.0.0.1:18100",
    height: 1_234_567,
    latencyMs: 2.6,
    clientVersion: "node/v0.16.2",
    answers: true,
  },
  conditions: [
    {
      type: "RpcResponding",
      title: "The RPC responds",
      status: "True",
      reason: "Answers",
      message: "It does.",
      since: "2026-01-01T11:00:00.000Z",
    },
  ],
  verdict: { level: "healthy" },
  headline: { state: "Healthy", cause: "All 19 checks pass." },
  incidents: [],
  figures: {
    lastBlock: { height: 1_234_567, ...fresh },
    rpc: { latencyMs: 2.6, ...fresh },
    gateway: { requestsPerSecond: 12.34, errorRatio: 0, limitedPerSecond: 0.5, ...fresh },
    restarts: { left: 2, perHour: 3 },
    disk: { freeRatio: 0.456, freeBytes: 123_456_789_000, ...fresh },
  },
  traffic: {
    total: { requests: 12.34, errors: 0, limited: 0.5 },
    byMethod: [
      { method: "eth_call", requests: 10, errors: 0, limited: 0.5 },
      { method: "eth_getTransactionReceipt", requests: 2.34, errors: 0, limited: 0 },
    ],
    byTier: [{ tier: "public", requests: 12.34, errors: 0, limited: 0.5 }],
    limited: [{ tier: "public", limit: "burst", perMinute: 30 }],
  },
  events: [{ at: "2026-01-01T11:30:00.000Z", message: "Pruning was turned on." }],
} as const;
