import { type Dashboard, each, perInstance, quantile, rateBy, selected } from "./dashboard.ts";

const calls = "gatehouse_gateway_call_duration_seconds_count";
const callBuckets = "gatehouse_gateway_call_duration_seconds_bucket";
const nodeBuckets = "gatehouse_gateway_node_duration_seconds_bucket";

/** The JSON-RPC gateway: rate, errors and duration first, then limits, cache, WebSocket and connections. */
export const gatewayDashboard: Dashboard = {
  uid: "gatehouse-gateway",
  title: "Gatehouse / Gateway",
  description: "What callers of the JSON-RPC gateway get: how many calls, how many fail, how long they take, and why.",
  rows: [
    {
      title: "Rate, errors, duration",
      panels: [
        {
          title: "Calls by outcome",
          description: "Calls a second by how they ended: answered by the node or the cache, refused, limited, failed.",
          unit: "reqps",
          queries: [{ expr: rateBy("outcome", calls), legend: "{{outcome}}" }],
        },
        {
          title: "Failed share",
          description: "Share of calls that failed for a reason of ours; a thousandth is the objective.",
          unit: "percentunit",
          queries: [
            {
              expr: `(${rateBy("instance", calls, { outcome: { in: ["failed", "overload"] } })} or 0 * ${rateBy("instance", calls)}) / ${rateBy("instance", calls, { outcome: { notIn: ["refused", "limited", "cancelled"] } })}`,
              legend: each,
            },
          ],
          alerts: ["GatehouseGatewayErrorsFast", "GatehouseGatewayErrorsSlow"],
          threshold: { value: 0.001 },
        },
        {
          title: "Duration",
          description: "Time from a call's arrival to its answer. 99 % within half a second is the objective.",
          unit: "s",
          queries: [
            { expr: quantile(0.5, "", callBuckets), legend: "p50" },
            { expr: quantile(0.95, "", callBuckets), legend: "p95" },
            { expr: quantile(0.99, "", callBuckets), legend: "p99" },
          ],
          alerts: ["GatehouseGatewayLatencyFast", "GatehouseGatewayLatencySlow"],
          threshold: { value: 0.5 },
        },
        {
          title: "Calls by method",
          description: "The ten methods that are called most.",
          unit: "reqps",
          queries: [{ expr: `topk(10, ${rateBy("method", calls)})`, legend: "{{method}}" }],
        },
        {
          title: "Slowest methods",
          description: "The ten methods whose 99th percentile takes longest, the gateway's part included.",
          unit: "s",
          queries: [{ expr: `topk(10, ${quantile(0.99, "method", callBuckets)})`, legend: "{{method}}" }],
          alerts: ["GatehouseGatewayLatencySlow"],
        },
        {
          title: "Duration at the node",
          description: "The node's part of the duration: from the request to the end of its answer.",
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
          title: "Met a limit",
          description: "What limits refused a second: rate and concurrency are the caller's, overload and memory ours.",
          unit: "reqps",
          queries: [{ expr: rateBy("limit, tier", "gatehouse_gateway_limited_total"), legend: "{{limit}} {{tier}}" }],
          alerts: ["GatehouseLimiterSaturated", "GatehouseOverloaded"],
        },
        {
          title: "Calls under way and waiting",
          description: "Calls that the node works on, and calls that wait for a connection to it.",
          unit: "short",
          queries: [
            perInstance("gatehouse_gateway_calls_in_flight", "under way"),
            perInstance("gatehouse_gateway_calls_queued", "waiting"),
          ],
          alerts: ["GatehouseOverloaded"],
        },
        {
          title: "Bytes held",
          description: "What is held for clients, and what the cache holds of it.",
          unit: "bytes",
          queries: [
            perInstance("gatehouse_gateway_buffered_bytes", "paused"),
            perInstance("gatehouse_gateway_cache_bytes", "cache"),
          ],
          alerts: ["GatehouseOverloaded"],
        },
        {
          title: "Where reads are answered",
          description: "Reads a second answered from the cache, with an equal call under way, and by the node.",
          unit: "reqps",
          queries: [{ expr: rateBy("source", "gatehouse_gateway_reads_total"), legend: "{{source}}" }],
        },
        {
          title: "Connections",
          description: "Open connections of each listener.",
          unit: "short",
          queries: [{ expr: `sum by (listener) (${selected("gatehouse_connections")})`, legend: "{{listener}}" }],
        },
        {
          title: "Refused connections",
          description: "Connections that were refused a second, by listener and reason.",
          unit: "cps",
          queries: [
            {
              expr: rateBy("listener, reason", "gatehouse_connections_rejected_total"),
              legend: "{{listener}} {{reason}}",
            },
          ],
          onlyWith: "clients that open more connections than they may",
        },
      ],
    },
    {
      title: "WebSocket and head",
      panels: [
        {
          title: "Link to the node",
          description: "1 while the gateway's WebSocket to the node is open.",
          unit: "bool_yes_no",
          kind: "stat",
          queries: [perInstance("gatehouse_gateway_upstream_connected")],
          alerts: ["GatehouseGatewayLinkLost"],
        },
        {
          title: "Clients and subscriptions",
          description: "WebSocket clients, their subscriptions, and those that the gateway has at the node for them.",
          unit: "short",
          queries: [
            perInstance("gatehouse_gateway_websocket_clients", "clients"),
            perInstance("gatehouse_gateway_subscriptions", "subscriptions"),
            perInstance("gatehouse_gateway_upstream_subscriptions", "at the node"),
          ],
        },
        {
          title: "Age of the head",
          description: "How long ago the node's latest block was made, by the block's own time.",
          unit: "s",
          queries: [perInstance("gatehouse_gateway_head_age_seconds")],
          alerts: ["GatehouseHeadStale"],
        },
      ],
    },
  ],
};
