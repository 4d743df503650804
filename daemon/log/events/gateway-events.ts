import type { LogEventTable } from "./event-row.ts";

/** Events of the gateway, alone or inside a sidecar. */
export const gatewayEvents = {
  call: { level: "info", means: "One JSON-RPC call, sampled by `accessLog.sampleRatio`." },
  "call-slow": {
    level: "warn",
    means: "A call took longer than `accessLog.slowMs`.",
    runbook: "gateway-latency",
  },
  "rate-store-connected": { level: "info", means: "The rate store responds; limits apply across replicas." },
  "rate-store-lost": {
    level: "warn",
    means:
      "The rate store is not responding; each replica applies limits on its own, so a client may exceed its limit.",
    act: "Check Redis and `rateStore.redisUrl`.",
    runbook: "limiter-saturated",
  },
  "batch-not-served": {
    level: "warn",
    means: "The node failed to serve a batch; for one minute, that caller's calls are sent one by one.",
    act: "No action needed. If it recurs, lower the gateway's batch size for the node.",
  },
  "upstream-connected": { level: "info", means: "The gateway is connected to the node's WebSocket." },
  "upstream-disconnected": {
    level: "warn",
    means: "The node closed its WebSocket; the gateway reconnects.",
    runbook: "gateway-link-lost",
  },
  "upstream-unreachable": {
    level: "warn",
    means: "The node's WebSocket is unreachable; heads are polled over HTTP, and subscriptions are rejected.",
    act: "Check `node.webSocketUrl`.",
    runbook: "gateway-link-lost",
  },
  "node-check-failed": {
    level: "error",
    means: "The check after the node's WebSocket opened failed because of an internal error.",
    act: "The next scheduled check follows. If this recurs, report it as a bug, with the stack.",
    runbook: "node-down",
  },
  "key-set-unreadable": {
    level: "warn",
    means: "The JWKS at `jwt.jwksUrl` can't be read; the cached keys remain valid for a while.",
    act: "Make the URL available before they expire; after that, all tokens are rejected.",
  },
  "proxy-not-trusted": {
    level: "warn",
    means: "An untrusted peer sends a forwarded client address; if it is your proxy, all its clients share one limit.",
    act: "If it is yours, add it to `callers.trustedProxies`.",
  },
  "proxy-header-missing": {
    level: "warn",
    means: "A trusted proxy does not send the client's address, so all its clients share one limit.",
    act: "Make it send the header, or set `callers.forwardedHeader` to the one that it sends.",
  },
  "spans-recovered": { level: "info", means: "Sending spans to the collector works again." },
  "spans-not-sent": {
    level: "warn",
    means: "Spans can't be sent and are dropped.",
    act: "Check `tracing.otlpUrl` and the collector.",
  },
} as const satisfies LogEventTable;
