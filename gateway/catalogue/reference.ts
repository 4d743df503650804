import { formatTable } from "#daemon/markdown.ts";
import { policySchema, type PolicySettings } from "../settings/policy.ts";
import { unknownParamsBytes } from "./catalogue.ts";
import { tracingGasFactor, type CacheRule, type Method, type ParamLimit } from "./method.ts";
import { specifiedMethods } from "./methods.ts";

const columns = ["Method", "Parameters", "Result", "Audience", "Units", "Cached", "Limits and more"];

/** The calls that cost a node the most CPU per unit, as measured by the `node` part of the benchmark. */
const worstCalls: readonly (readonly string[])[] = [
  ["geth", "`eth_call`, no gas", "CODECOPY of 24 KiB", "104", "1.5 ms"],
  ["geth", "`debug_traceCall`, 50,000,000 gas", "calls that take and return 64 KiB", "29,902", "1.4 ms"],
  ["geth", "`eth_call`, 50,000,000 gas", "CODECOPY of 24 KiB", "104", "1.2 ms"],
  ["geth", "`debug_traceCall`, 50,000,000 gas", "SHA-256 of 64 KiB", "6,615", "1.1 ms"],
  ["geth", "`eth_estimateGas`, 50,000,000 gas", "TSTORE", "100", "1.1 ms"],
  ["geth", "`eth_call`, no gas", "calls that take and return 64 KiB", "137", "1.1 ms"],
  ["anvil", "`eth_estimateGas`, no gas", "SHA-256 of 64 KiB", "41", "1.1 ms"],
  ["anvil", "`eth_call`, no gas", "MULMOD of 32 bytes", "68", "1.0 ms"],
  ["anvil", "`eth_call`, no gas", "EXP of 32 bytes", "46", "1.0 ms"],
  ["anvil", "`eth_call`, 50,000,000 gas", "KECCAK256 of 64 KiB", "445", "1.0 ms"],
];

/** Renders the method reference for the docs in Markdown, from the catalogue and the policy; the policy defaults to the default settings. */
export function renderMethodReference(policy: PolicySettings = policySchema.parse({})): string {
  const { limits, rateLimit } = policy;
  const rows = specifiedMethods.map((method) => buildCells(method, policy));
  return [
    "# JSON-RPC methods",
    "",
    "Printed by `npm run docs` from the gateway's catalogue; do not edit. The public listener has the methods with the audience `public`, the private one also",
    "`private` ones, the internal one all. `gateway.methods` changes, removes (`audience: nobody`) and adds methods; an added one is sent to the node at",
    "most once, an added `eth_newFilter` has the cap of `eth_getLogs`, and an added `debug_trace…` must name `callTracer` in its last parameter.",
    "",
    "- Without tracer options, `callTracer` is used; options of the struct logger without a tracer are rejected.",
    "- Gas above the limit is capped (`gateway.limits.callGas`), as by geth. Block ranges are limited by `gateway.ranges` and by tier.",
    `- One unit buys ${rateLimit.gasPerUnit} gas. A traced call or an access list counts its gas ${tracingGasFactor} times; a call without gas counts the limit.`,
    `- Methods with a gas limit or \`callTracer\`: each millisecond of the node's time costs ${rateLimit.unitsPerNodeMs} unit, minus the call's cost. Calls of a batch share the time.`,
    `- Parameters are limited to ${formatKib(limits.paramsBytes)} unless listed, and to ${formatKib(unknownParamsBytes)} for an added method.`,
    `- Each whole KiB of a call costs ${rateLimit.unitsPerKiB} units more.`,
    "- Timeout at the node: 10 s unless listed. `behind`: also served while the node is behind.",
    "",
    ...formatTable(columns, rows),
    "",
    "## Most expensive calls for a node",
    "",
    "CPU per unit: the worst of 163 calls that `npm run bench:gateway -- --only node` tries on anvil 1.7 and geth 1.16.",
    "A unit of `eth_getBalance` takes 0.01 ms. Most of these units are charged for the call's duration. Debt is at most one `computeUnitBurst`, so also limit",
    "the calls at the node (geth: `--rpc.gascap`, `--rpc.evmtimeout`).",
    "",
    ...formatTable(["Node", "Call", "Loop of", "Units", "CPU per unit"], worstCalls),
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
    cacheTexts[cache.kind],
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

const finalizedNote = "forever if finalized, otherwise one head";
const cacheTexts: Readonly<Record<CacheRule["kind"], string>> = {
  none: "",
  constant: "while connected",
  hash: "for ever",
  head: "within one head",
  block: finalizedNote,
  logs: finalizedNote,
};
