import { formatTable } from "#daemon/markdown.ts";
import { policySchema, type PolicySettings } from "../settings/policy.ts";
import { specifiedMethods } from "./catalogue.ts";
import type { CacheRule, Method, ParamLimit } from "./method.ts";
import { tracedTimes, unknownParamsBytes } from "./method-parts.ts";

const columns = ["Method", "Parameters", "Result", "Audience", "Units", "Cached", "Limits and more"];

/** The calls that cost anvil the most CPU per unit, as measured by the `node` part of the benchmark. */
const worstCalls: readonly (readonly string[])[] = [
  ["`eth_call`, no gas", "KECCAK256 of 64 KiB", "26", "21 ms"],
  ["`debug_traceCall`, 50,000,000 gas", "calls that take and return 64 KiB", "500", "16 ms"],
  ["`eth_estimateGas`, no gas", "KECCAK256 of 64 KiB", "40", "14 ms"],
  ["`eth_createAccessList`, no gas", "KECCAK256 of 64 KiB", "40", "12 ms"],
  ["`eth_estimateGas`, 50,000,000 gas", "KECCAK256 of 64 KiB", "100", "11 ms"],
  ["`eth_call`, no gas", "TSTORE", "26", "9 ms"],
  ["`eth_call`, 50,000,000 gas", "KECCAK256 of 64 KiB", "100", "9 ms"],
  ["`eth_createAccessList`, 50,000,000 gas", "KECCAK256 of 64 KiB", "100", "8 ms"],
  ["`eth_estimateGas`, no gas", "TSTORE", "40", "7 ms"],
  ["`eth_createAccessList`, no gas", "TSTORE", "40", "6 ms"],
];

/** Renders the method reference for the docs in Markdown, from the catalogue and the policy; the policy defaults to the default settings. */
export function printMethodReference(policy: PolicySettings = policySchema.parse({})): string {
  const { limits, rateLimit } = policy;
  const rows = specifiedMethods.map((method) => buildCells(method, policy));
  return [
    "# JSON-RPC methods",
    "",
    "Printed by `npm run docs` from the gateway's catalogue; do not edit. The public listener has the methods with the audience `public`, the private one also",
    "`private` ones, the internal one all. `gateway.methods` moves, changes, removes (`audience: nobody`) and adds methods; an added one is sent to the node at",
    "most once, an added `eth_newFilter` has the cap of `eth_getLogs`, and an added `debug_trace…` must name `callTracer` in its last parameter.",
    "",
    "- Without tracer options `callTracer` is meant; options of the struct logger without a tracer are rejected.",
    "- Gas above the limit is capped (`gateway.limits.callGas`), as by geth. Block ranges are limited by `gateway.ranges` and by tier.",
    `- A unit buys ${rateLimit.gasPerUnit} gas (\`gateway.rateLimit.gasPerUnit\`); a traced call's gas counts ${tracedTimes} times, as the limit if it specifies none.`,
    `- Parameters: up to ${formatKib(limits.paramsBytes)} (\`gateway.limits.paramsBytes\`) unless listed; of an added method ${formatKib(unknownParamsBytes)}.`,
    `- Each whole KiB of a call costs ${rateLimit.unitsPerKiB} units more (\`gateway.rateLimit.unitsPerKiB\`).`,
    "- The node has 10 s to respond unless listed. `behind`: also served while the node is behind.",
    "",
    ...formatTable(columns, rows),
    "",
    "## Calls that cost a node most",
    "",
    "CPU of anvil for a unit, the worst of 162 calls that `npm run bench:gateway -- --only node` tries (geth too, where it is on the PATH).",
    "A unit of `eth_getBalance` takes 0.01 ms. A call that names no gas costs its method's units, since most use little of what a node allows:",
    "bound it at the node (geth: `--rpc.gascap`, `--rpc.evmtimeout`), or raise `costUnits` in `gateway.methods`.",
    "",
    ...formatTable(["Call", "Loop of", "Units", "CPU of a unit"], worstCalls),
    "",
  ].join("\n");
}

function buildCells(method: Method, { ranges, limits }: PolicySettings): readonly string[] {
  const { name, params, result, audience, answeredBy, limit, paramsBytes, costUnits, cache, timeoutMs } = method;
  const { webSocketOnly, whileBehind } = method;
  const notes = [
    answeredBy === "node" ? "" : `by the ${answeredBy}`,
    webSocketOnly === true ? "WebSocket only" : describeLimit(limit, ranges, limits.callGas),
    paramsBytes === undefined ? "" : `parameters ${formatKib(paramsBytes)}`,
    answeredBy === "node" && timeoutMs !== 10_000 ? `${timeoutMs / 1_000} s` : "",
    answeredBy === "gateway" || whileBehind === true ? "behind" : "",
  ];
  return [
    `\`${name}\``,
    params.map((param) => `${param.name}${param.optional === true ? "?" : ""}`).join(", ") || "none",
    result,
    audience,
    String(costUnits),
    describeCache(cache),
    notes.filter((note) => note !== "").join("; "),
  ];
}

function formatKib(bytes: number): string {
  return `${bytes / 1_024} KiB`;
}

function describeLimit(limit: ParamLimit | undefined, ranges: PolicySettings["ranges"], gas: number): string {
  switch (limit?.kind) {
    case "logs":
    case "logsAtOnce":
      return `${ranges.logsBlocks} blocks; ${ranges.logsFallbackBlocks} without rate limits`;
    case "traceRange":
      return `${ranges.traceBlocks} blocks`;
    case "gas":
      return `${gas} gas`;
    case "tracer":
      return limit.overrides === true ? `callTracer only; ${gas} gas` : "callTracer only";
    case "lastTracer":
      return "callTracer only";
    case undefined:
      return "";
  }
}

function describeCache({ kind }: CacheRule): string {
  switch (kind) {
    case "none":
      return "";
    case "constant":
      return "while connected";
    case "hash":
      return "for ever";
    case "head":
      return "within one head";
    case "block":
    case "logs":
      return "finalised for ever, else one head";
  }
}
