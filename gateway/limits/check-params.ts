import { tracingGasFactor, type Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/chain-head.ts";
import { invalidParams } from "../errors.ts";
import { buildCallKey } from "../json-rpc/call.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import { findLogsCap, findTraceCap, maySpecifyGas, type Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import { checkLogParams, checkTraceParams } from "./block-filters.ts";
import { maxFields, parseShortValue, readFields, reject, type CheckedParams } from "./checked-params.ts";
import { checkLastTracer, checkTracerParams } from "./tracer-options.ts";

/** Inputs to a parameter check, besides the parameters. */
export type CheckBasis = Readonly<{ policy: Policy; head: ChainHead | undefined; tier: Tier; method: Method }>;

/** Checks a method's parameters (JSON text of an array) against the limit that the catalogue specifies for it. */
export function checkParams({ policy, head, tier, method }: CheckBasis, params: string): CheckedParams {
  const { limit, timeoutMs } = method;
  const { callGas, traceCallOverrides } = policy.settings.limits;
  const splitBlocks = tier.splitBlocks ?? 0;
  switch (limit?.kind) {
    case "logs":
      return checkLogParams(params, head, { capBlocks: findLogsCap(policy, tier), splitBlocks });
    case "logsAtOnce":
      return checkLogParams(params, head, { capBlocks: findLogsCap(policy, tier), splitBlocks: 0 });
    case "traceRange":
      return checkTraceParams(params, head, { capBlocks: findTraceCap(policy, tier), splitBlocks });
    case "gas":
      return (limit.isRepeated === true ? limitRepeatedGas : limitGas)(params, callGas);
    case "tracer": {
      // Only methods that execute a call have overrides and gas.
      const isCall = limit.overrides === true;
      const cappedParams = isCall ? limitRepeatedGas(params, callGas) : ({ kind: "pass", params } as const);
      if (cappedParams.kind !== "pass") return cappedParams;
      const options = { maxMs: timeoutMs, overrides: isCall && traceCallOverrides };
      const tracedParams = checkTracerParams(cappedParams.params, limit.at, options);
      return tracedParams.kind === "pass" && cappedParams.gas !== undefined
        ? { ...tracedParams, gas: cappedParams.gas }
        : tracedParams;
    }
    case "lastTracer":
      return checkLastTracer(params, timeoutMs);
    case undefined:
      return { kind: "pass", params };
  }
}

/** Keys that nodes parse as the gas of a call. Nodes written in Go ignore case and treat ſ (U+017F) as s. */
const gasNames: ReadonlySet<string> = new Set(["GAS", "GASLIMIT"]);

/** Gas that every transaction needs. Nodes ignore a smaller amount when they estimate gas. */
const transactionGas = 21_000;

/**
 * Caps the gas of a call object, which is the first parameter. As in geth (`--rpc.gascap`), more gas is no error, because a client that
 * asks for more wants the max available. A call object without gas gets the node's own cap, and counts as `unnamedGas`. If a later
 * parameter may override the block's gas limit, which some nodes take for the gas of a call without gas, the call gets its own gas, or the
 * cap, in the spelling that all nodes read.
 */
function limitGas(params: string, cap: number, unnamedGas = 0): CheckedParams {
  const [call = "", ...rest] = splitElements(params);
  if (call.startsWith("[")) return reject(invalidParams("expected a call object"));
  if (!call.startsWith("{")) return { kind: "pass", params };
  const isOverridden = rest.some((value) => value.startsWith("[") || maySpecifyGas(value));
  if (!isOverridden && !maySpecifyGas(call)) return { kind: "pass", params, gas: unnamedGas };
  const fields = readFields(call);
  if (fields === undefined) return reject(invalidParams(`expected a call object of at most ${maxFields} fields`));
  // Only `gas` counts here, because not all nodes know the other names.
  let gas = isOverridden || readAmount(fields.get("gas") ?? "null") > 0 ? 0 : unnamedGas;
  const cappedCalls: string[] = [];
  for (const [name, value] of fields) {
    const isGas = gasNames.has(name.toUpperCase());
    const asked = isGas ? readAmount(value) : 0;
    gas = Math.max(gas, Math.min(asked, cap));
    if (isGas && isOverridden) continue;
    cappedCalls.push(`${asBinary(JSON.stringify(name))}:${asked > cap ? formatGas(cap) : value}`);
  }
  if (isOverridden) {
    gas = Math.min(cap, Math.max(Math.floor(gas) || cap, transactionGas));
    cappedCalls.push(`"gas":${formatGas(gas)}`);
  }
  return { kind: "pass", params: `[${[`{${cappedCalls.join(",")}}`, ...rest].join(",")}]`, gas };
}

function formatGas(gas: number): string {
  return `"0x${gas.toString(16)}"`;
}

/** Caps the gas of a call that the node may run many times, and counts it that many times. A call without gas counts as the cap. */
function limitRepeatedGas(params: string, cap: number): CheckedParams {
  const capped = limitGas(params, cap, cap);
  if (capped.kind !== "pass" || capped.gas === undefined) return capped;
  return { ...capped, gas: tracingGasFactor * capped.gas };
}

/** Max length of a gas amount as JSON text. */
const amountLength = 80;

/** Parses a gas amount: the JSON text of a hexadecimal or decimal string, or of a number. Anything else becomes 0 and is left for the node to reject. */
function readAmount(json: string): number {
  if (json.length > amountLength) return Number.POSITIVE_INFINITY;
  const gas = parseShortValue(json);
  const amount = typeof gas === "string" || typeof gas === "number" ? Number(gas) : 0;
  return amount > 0 ? amount : 0;
}

/** Max number of cached checks, and max length of their parameters. */
const cachedChecks = 1_000;
const rememberedLength = 1_024;

/** Outcome of a check; accepted parameters include their `buildCallKey`. */
export type CheckedRead =
  | Exclude<CheckedParams, { kind: "pass" }>
  | Readonly<{ kind: "pass"; params: string; gas?: number; key: string }>;

/** Checks parameters like {@link checkParams}, or returns the cached outcome of an identical check. */
export type RememberedChecks = (basis: CheckBasis, params: string) => CheckedRead;

/**
 * Caches the outcomes of checks while policy and head are unchanged, because polling clients repeat the same filter. Rejected
 * parameters are checked each time.
 */
export function rememberChecks(): RememberedChecks {
  let last: Pick<CheckBasis, "policy" | "head"> | undefined;
  let count = 0;
  const known = new Map<Tier, Map<string, CheckedRead>>();
  return (basis, params) => {
    const { policy, head, tier, method } = basis;
    if (params.length > rememberedLength) return addKey(method, checkParams(basis, params));
    if (policy !== last?.policy || head !== last.head) {
      known.clear();
      last = { policy, head };
      count = 0;
    }
    const given = buildCallKey(method.name, params);
    const checkedBefore = known.get(tier)?.get(given);
    if (checkedBefore !== undefined) return checkedBefore;
    const read = addKey(method, checkParams(basis, params));
    if (read.kind !== "pass") return read;
    if (count >= cachedChecks) {
      known.clear();
      count = 0;
    }
    const ofTier = known.get(tier) ?? new Map<string, CheckedRead>();
    known.set(tier, ofTier.set(given, read));
    count += 1;
    return read;
  };
}

function addKey({ name }: Method, checked: CheckedParams): CheckedRead {
  return checked.kind === "pass" ? { ...checked, key: buildCallKey(name, checked.params) } : checked;
}
