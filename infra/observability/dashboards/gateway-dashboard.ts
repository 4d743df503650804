import { type Dashboard, each, perInstance, quantile, rateBy, selected } from "./dashboard.ts";

const calls = "gatehouse_gateway_call_duration_seconds_count";
const callBuckets = "gatehouse_gateway_call_duration_seconds_bucket";
const nodeBuckets = "gatehouse_gateway_node_duration_seconds_bucket";

/** The JSON-RPC gateway: rate, errors and duration first, then limits, cache, WebSocket and connections. */
export const gatewayDashboard: Dashboard = {
  uid: "gatehouse-gateway",
  title: "Gatehouse / Gateway",
  description: "Traffic of the JSON-RPC gateway: call rate, errors, latency, and causes.",
  rows: [
    {
      title: "Rate, errors, duration",
      panels: [
        {
          title: "Calls by outcome",
          description: "Calls per second by outcome: served by the node or the cache, refused, limited, failed.",
          unit: "reqps",
          queries: [{ expr: rateBy("outcome", calls), legend: "{{outcome}}" }],
        },
        {
          title: "Error ratio",
          description: "Ratio of calls that failed on the server side; the objective is 0.1 %.",
          unit: "percentunit",
          queries: [
            {
              expr: `(${rateBy("instance", calls, { outcome: { in: ["failed", "overload"] } })} or 0 * ${rateBy("instance", calls)}) / ${rateBy("instance", calls, { outcome: { notIn: ["refused", "limited", "cancelled"] } })}`,
              legend: each,
            },
          ],
          alerts: ["GatehouseGatewayErrors"],
          threshold: { value: 0.001 },
        },
        {
          title: "Duration",
          description: "Time from a call's arrival to its response. The objective is 99 % within half a second.",
          unit: "s",
          queries: [
            { expr: quantile(0.5, "", callBuckets), legend: "p50" },
            { expr: quantile(0.95, "", callBuckets), legend: "p95" },
            { expr: quantile(0.99, "", callBuckets), legend: "p99" },
          ],
          alerts: ["GatehouseGatewayLatency"],
          threshold: { value: 0.5 },
        },
        {
          title: "Calls by method",
          description: "The ten most frequent methods.",
          unit: "reqps",
          queries: [{ expr: `topk(10, ${rateBy("method", calls)})`, legend: "{{method}}" }],
        },
        {
          title: "Slowest methods",
          description: "The ten methods with the highest 99th percentile, including the gateway's share.",
          unit: "s",
          queries: [{ expr: `topk(10, ${quantile(0.99, "method", callBuckets)})`, legend: "{{method}}" }],
          alerts: ["GatehouseGatewayLatency"],
        },
        {
          title: "Duration at the node",
          description: "The node's share of the duration: from the request to the end of its response.",
          unit: "s",
          queries: [
            { expr: quantile(0.5, "", nodeBuckets), legend: "p50" },
            { expr: quantile(0.99, "", nodeBuckets), legend: "p99" },
          ],
        },
      ],
    },
    {
      title: "Limits and load",
      panels: [
        {
          title: "Limited calls",
          description:
            "Rejections per second by limit: rate and concurrency belong to the caller, overload and memory to the gateway.",
          unit: "reqps",
          queries: [{ expr: rateBy("limit, tier", "gatehouse_gateway_limited_total"), legend: "{{limit}} {{tier}}" }],
          alerts: ["GatehouseLimiterSaturated", "GatehouseOverloaded"],
        },
        {
          title: "Calls in flight and queued",
          description: "Calls in flight to the node, and calls queued for a connection to it.",
          unit: "short",
          queries: [
            perInstance("gatehouse_gateway_calls_in_flight", "in flight"),
            perInstance("gatehouse_gateway_calls_queued", "waiting"),
          ],
          alerts: ["GatehouseOverloaded"],
        },
        {
          title: "Buffered bytes",
          description: "Bytes buffered for clients, including those in the cache.",
          unit: "bytes",
          queries: [
            perInstance("gatehouse_gateway_buffered_bytes", "paused"),
            perInstance("gatehouse_gateway_cache_bytes", "cache"),
          ],
          alerts: ["GatehouseOverloaded"],
        },
        {
          title: "Reads by source",
          description: "Reads per second served from the cache, by an identical in-flight call, and by the node.",
          unit: "reqps",
          queries: [{ expr: rateBy("source", "gatehouse_gateway_reads_total"), legend: "{{source}}" }],
        },
        {
          title: "Connections",
          description: "Open connections by listener.",
          unit: "short",
          queries: [{ expr: `sum by (listener) (${selected("gatehouse_connections")})`, legend: "{{listener}}" }],
        },
        {
          title: "Rejected connections",
          description: "Rejected connections per second, by listener and reason.",
          unit: "cps",
          queries: [
            {
              expr: rateBy("listener, reason", "gatehouse_connections_rejected_total"),
              legend: "{{listener}} {{reason}}",
            },
          ],
          onlyWith: "clients that open too many connections",
        },
      ],
    },
    {
      title: "WebSocket and head",
      panels: [
        {
          title: "Connection to the node",
          description: "1 while the gateway's WebSocket to the node is open.",
          unit: "bool_yes_no",
          kind: "stat",
          queries: [perInstance("gatehouse_gateway_upstream_connected")],
          alerts: ["GatehouseGatewayLinkLost"],
        },
        {
          title: "Clients and subscriptions",
          description:
            "WebSocket clients, their subscriptions, and the gateway's own subscriptions on the node for them.",
          unit: "short",
          queries: [
            perInstance("gatehouse_gateway_websocket_clients", "clients"),
            perInstance("gatehouse_gateway_subscriptions", "subscriptions"),
            perInstance("gatehouse_gateway_upstream_subscriptions", "at the node"),
          ],
        },
        {
          title: "Age of the head",
          description: "Age of the node's latest block, by its timestamp.",
          unit: "s",
          queries: [perInstance("gatehouse_gateway_head_age_seconds")],
          alerts: ["GatehouseHeadStale"],
        },
      ],
    },
  ],
};
