import type { Method } from "./method.ts";
import { defineNodeMethod, listParamsBytes, never } from "./method-parts.ts";

/** Specification, "Standard methods": log entries, and subscriptions to them and to block headers. */
export const logMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_getLogs",
    summary: "Log entries that match a filter",
    params: [{ name: "filter", shape: "logFilter" }],
    result: "array of log entries",
    limit: { kind: "logs" },
    cache: { kind: "logs" },
    paramsBytes: listParamsBytes,
    costUnits: 75,
    timeoutMs: 20_000,
  }),
  {
    name: "eth_subscribe",
    summary: "Subscribes to new block headers (newHeads) or matching log entries (logs)",
    params: [
      { name: "type", shape: "subscriptionType" },
      { name: "filter", shape: "logFilter", optional: true },
    ],
    result: "subscription id",
    audience: "public",
    answeredBy: "gateway",
    cache: never,
    paramsBytes: listParamsBytes,
    costUnits: 10,
    timeoutMs: 10_000,
    repeatable: false,
    webSocketOnly: true,
  },
  {
    name: "eth_unsubscribe",
    summary: "Cancels a subscription",
    params: [{ name: "subscription", shape: "subscriptionId" }],
    result: "true",
    audience: "public",
    answeredBy: "gateway",
    cache: never,
    costUnits: 10,
    timeoutMs: 10_000,
    repeatable: false,
    webSocketOnly: true,
  },
];
