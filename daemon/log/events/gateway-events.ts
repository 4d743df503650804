import type { LogEventTable } from "./event-row.ts";

/** Events of the gateway, alone or inside a sidecar. */
export const gatewayEvents = {
  call: { level: "info", means: "One JSON-RPC call, of the share that `accessLog.sampleRatio` chooses." },
  "call-slow": {
    level: "warn",
    means: "A call took longer than `accessLog.slowMs`.",
    runbook: "gateway-latency-slow",
  },
  "rate-store-connected": { level: "info", means: "The rate store answers: limits hold across replicas." },
  "rate-store-lost": {
    level: "warn",
    means: "The rate store does not answer: each replica limits by itself, so that a client gets more than it should.",
    act: "Look at Redis and at `rateStore.redisUrl`.",
    runbook: "limiter-saturated",
  },
  "batch-not-served": {
    level: "warn",
    means: "The node did not serve a batch as it should; for a minute its caller's calls go to it one by one.",
    act: "Nothing at once. If it returns, lower the gateway's batch size for the node.",
  },
  "upstream-connected": { level: "info", means: "The gateway is connected to the node's WebSocket." },
  "upstream-disconnected": {
    level: "warn",
    means: "The node closed its WebSocket; the gateway connects again.",
    runbook: "gateway-link-lost",
  },
  "upstream-unreachable": {
    level: "warn",
    means: "The node's WebSocket can't be reached: heads are requested over HTTP, subscriptions are refused.",
    act: "Check `node.webSocketUrl`.",
    runbook: "gateway-link-lost",
  },
  "node-check-failed": {
    level: "error",
    means: "A look at the node, after its WebSocket opened, failed by the gateway's own fault.",
    act: "The next regular look follows. If the line returns, report it as a bug, with the stack.",
    runbook: "node-down",
  },
  "key-set-unreadable": {
    level: "warn",
    means: "The key set of `jwt.jwksUrl` can't be read; the keys that were read are good for a while.",
    act: "Make the URL answer before they end, or nobody with a token gets in.",
  },
  "proxy-not-trusted": {
    level: "warn",
    means:
      "A peer that is not a trusted proxy sends a forwarded client address; if it is your proxy, all its clients share one limit.",
    act: "Add it to `callers.trustedProxies`, if it is yours.",
  },
  "proxy-header-missing": {
    level: "warn",
    means: "A trusted proxy does not say whom it serves, so that all its clients share one limit.",
    act: "Make it send the header, or name the one that it sends in `callers.forwardedHeader`.",
  },
  "spans-recovered": { level: "info", means: "Spans are sent to the collector again." },
  "spans-not-sent": {
    level: "warn",
    means: "Spans can't be sent, and are lost until they can.",
    act: "Check `tracing.otlpUrl` and the collector.",
  },
} as const satisfies LogEventTable;
