import { invalidParams } from "../errors.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import {
  readFields,
  maxFields,
  parseParams,
  reject,
  parseShortValue,
  findUnknownField,
  type CheckedParams,
} from "./checked-params.ts";
import { asBinary } from "../json-rpc/read-answer.ts";

const rejection = invalidParams("tracer not supported: only callTracer is supported");

/** Options that set the detail of opcode logs or the depth of state re-execution; they have no effect on `callTracer`'s result. */
const withoutEffect: ReadonlyMap<string, "boolean" | "number"> = new Map([
  ["debug", "boolean"],
  ["disableMemory", "boolean"],
  ["disableReturnData", "boolean"],
  ["disableStack", "boolean"],
  ["disableStorage", "boolean"],
  ["enableMemory", "boolean"],
  ["enableReturnData", "boolean"],
  ["fullStorage", "boolean"],
  ["limit", "number"],
  ["reexec", "number"],
]);

/** Options of the struct logger: a client that sends one of these without a tracer expects a log of opcodes, not `callTracer`'s frames. */
const structLogOptions = [...withoutEffect.keys()].filter((name) => name !== "reexec");

/** Options of `debug_traceCall` that run a call on a state or block that differs from the chain's. */
const overrideNames: ReadonlySet<string> = new Set(["stateOverrides", "blockOverrides", "txIndex"]);

const known: ReadonlySet<string> = new Set([
  "tracer",
  "tracerConfig",
  "timeout",
  ...withoutEffect.keys(),
  ...overrideNames,
]);

export type TracerLimit = Readonly<{
  /** Max time limit passed to the node, in ms, so that it stops tracing once no one is waiting for the response. */
  maxMs: number;
  /** Whether state and block overrides are allowed. */
  overrides: boolean;
}>;

/**
 * Checks the tracer options at parameter `at` (specification, Limits: `callTracer` only). The node always receives `callTracer`, because
 * without a tracer nodes log every opcode, and that tracer's two switches, the time limit and the allowed overrides. JavaScript, and other
 * tracers in `tracerConfig`, are rejected. Options without effect on `callTracer` are accepted but not forwarded: `reexec` would let a
 * client make the node recompute state for minutes. Only short options are parsed; the parameters before them, and overrides, are forwarded
 * as the client wrote them.
 */
export function checkTracerParams(params: string, at: number, limit: TracerLimit): CheckedParams {
  const values = splitElements(params);
  if (values.length < at) return reject(invalidParams(`missing value for required argument ${values.length}`));
  if (values.length > at + 1) return reject(invalidParams(`expected at most ${at + 1} parameters`));
  const given = values[at] ?? "null";
  return checkOptions(values.slice(0, at), given === "null" ? "{}" : given, limit);
}

/** Checks tracer options in the last parameter of an otherwise unknown method. The options are required, and no earlier parameter may specify a tracer. */
export function checkLastTracer(params: string, maxMs: number): CheckedParams {
  const values = parseParams(params);
  const otherValues = values.slice(0, -1);
  const last = values.at(-1);
  if (!namesTracer(last)) return reject(invalidParams('expected tracer options last: { tracer: "callTracer" }'));
  return otherValues.some(namesTracer)
    ? reject(rejection, "tracer")
    : checkOptions(splitElements(params).slice(0, -1), asBinary(JSON.stringify(last)), { maxMs, overrides: false });
}

/** Whether a value contains, at any depth, a key that some node treats as a tracer; nodes differ in case sensitivity. */
function namesTracer(value: unknown): boolean {
  const left = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== "object" || one === null) continue;
    for (const [name, inner] of Object.entries(one)) {
      if (name.toLowerCase() === "tracer") return true;
      left.push(inner);
    }
  }
  return false;
}

function checkOptions(otherValues: readonly string[], given: string, limit: TracerLimit): CheckedParams {
  const read = readFields(given);
  if (read === undefined) {
    return reject(invalidParams(`expected an object of tracer options, of at most ${maxFields}`));
  }
  // As in geth, an option that is null is not set.
  const fields = new Map([...read].filter(([, json]) => json !== "null"));
  const wrong = findWrongOption(fields, limit.overrides);
  if (wrong !== undefined) return reject(invalidParams(wrong));
  const named = parseShortValue(fields.get("tracer")) ?? undefined;
  const logOption = structLogOptions.find((name) => fields.has(name));
  if (named === undefined && logOption !== undefined) {
    return reject(invalidParams(`struct logger not supported (${logOption}): only callTracer is supported`), "tracer");
  }
  const tracer = named ?? "callTracer";
  if (tracer !== "callTracer") return reject(rejection, "tracer");
  const tracerConfig = readSwitches(parseShortValue(fields.get("tracerConfig")) ?? {});
  if (tracerConfig === undefined) {
    return reject(invalidParams("invalid tracerConfig: only onlyTopCall and withLog, true or false, are supported"));
  }
  const timeoutMs = readTimeout(parseShortValue(fields.get("timeout")));
  if (Number.isNaN(timeoutMs)) return reject(invalidParams("invalid timeout: expected a time such as 5s or 500ms"));
  const options = JSON.stringify({
    tracer: "callTracer",
    ...(Object.keys(tracerConfig).length === 0 ? {} : { tracerConfig }),
    ...(timeoutMs === undefined ? {} : { timeout: `${Math.min(timeoutMs, limit.maxMs)}ms` }),
  });
  const overrides = [...fields].flatMap(([name, value]) => (overrideNames.has(name) ? [`,"${name}":${value}`] : []));
  return { kind: "pass", params: `[${[...otherValues, `${options.slice(0, -1)}${overrides.join("")}}`].join(",")}]` };
}

/** Describes the first error in the options, except the tracer's own; returns undefined if there is none. */
function findWrongOption(fields: ReadonlyMap<string, string>, mayOverride: boolean): string | undefined {
  const unknownField = findUnknownField(fields, known);
  if (unknownField !== undefined) return `unknown tracer option ${unknownField}`;
  for (const [name, json] of fields) {
    const type = withoutEffect.get(name);
    if (type !== undefined && typeof parseShortValue(json) !== type) return `invalid ${name}: expected a ${type}`;
    if (!overrideNames.has(name)) continue;
    if (!mayOverride) return `${name} is not supported here; the operator may allow it (limits.traceCallOverrides)`;
    const isRight = name === "txIndex" ? typeof parseShortValue(json) === "string" : json.startsWith("{");
    if (!isRight) return `invalid ${name}: expected ${name === "txIndex" ? "a hexadecimal number" : "an object"}`;
  }
  return undefined;
}

/** Reads the switches of `callTracer`; returns undefined if there are any other fields. */
function readSwitches(given: unknown): Readonly<Record<string, boolean>> | undefined {
  const switches: Record<string, boolean> = {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  for (const [name, value] of Object.entries(given)) {
    if (value === null) continue;
    if ((name !== "onlyTopCall" && name !== "withLog") || typeof value !== "boolean") return undefined;
    switches[name] = value;
  }
  return switches;
}

const unitMs: ReadonlyMap<string | undefined, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** Parses a duration in the way nodes do and returns milliseconds: NaN if it is invalid, undefined if it is absent. */
function readTimeout(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const [, digits, unit] = (typeof value === "string" ? /^(\d{1,6}(?:\.\d{1,6})?)(ms|s|m|h)$/.exec(value) : null) ?? [];
  return Number(digits) * (unitMs.get(unit) ?? Number.NaN);
}
