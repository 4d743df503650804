import type { LogEventTable } from "./event-row.ts";

export const gatewayEvents = {
  call: { level: "info" },
  "call-slow": { level: "warn", runbook: "gateway-latency" },
  "rate-store-connected": { level: "info" },
  "rate-store-lost": { level: "warn", act: "Check Redis and `rateStore.redisUrl`.", runbook: "limiter-saturated" },
  "batch-not-served": {
    level: "warn",
    act: "No action needed. If it recurs, lower the gateway's batch size for the node.",
  },
  "upstream-connected": { level: "info" },
  "upstream-disconnected": { level: "warn", runbook: "gateway-link-lost" },
  "upstream-unreachable": { level: "warn", act: "Check `node.webSocketUrl`.", runbook: "gateway-link-lost" },
  "node-check-failed": {
    level: "error",
    act: "The next check runs as scheduled. If this recurs, report it as a bug, with the stack.",
    runbook: "node-down",
  },
  "key-set-unreadable": {
    level: "warn",
    act: "Make the URL available before they expire; after that, all tokens are rejected.",
  },
  "proxy-not-trusted": { level: "warn", act: "If it is yours, add it to `callers.trustedProxies`." },
  "proxy-header-missing": {
    level: "warn",
    act: "Make it send `X-Forwarded-For`.",
  },
  "spans-recovered": { level: "info" },
  "spans-not-sent": { level: "warn", act: "Check `tracing.otlpUrl` and the collector." },
} as const satisfies LogEventTable;
