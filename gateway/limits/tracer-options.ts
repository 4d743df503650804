import { invalidParams } from "../errors.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import {
  readFields,
  maxFields,
  parseParams,
  refuse,
  parseShortValue,
  findUnknownField,
  type CheckedParams,
} from "./checked-params.ts";
import { asBinary } from "../json-rpc/read-answer.ts";

const refusal = invalidParams("tracer not supported: only callTracer is supported");

/** Options that set how much of each opcode is logged, or how far back state is computed again: `callTracer`'s result is the same. */
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

/** Options of the struct logger: without a tracer, a client that sends one wants each opcode, and not the frames of `callTracer`. */
const structLogOptions = [...withoutEffect.keys()].filter((name) => name !== "reexec");

/** Options of `debug_traceCall` by which a call runs on another state or block than the chain's. */
const overrideNames: ReadonlySet<string> = new Set(["stateOverrides", "blockOverrides", "txIndex"]);

const known: ReadonlySet<string> = new Set([
  "tracer",
  "tracerConfig",
  "timeout",
  ...withoutEffect.keys(),
  ...overrideNames,
]);

/** Limits that tracer options are checked against. */
export type TracerLimit = Readonly<{
  /** Most milliseconds that the node gets: it would trace on for nobody. */
  maxMs: number;
  /** Whether state and block overrides pass. */
  overrides: boolean;
}>;

/**
 * Checks the tracer options at parameter `at` (specification, Limits: `callTracer` only). What goes to the node always names
 * `callTracer`, because without a tracer nodes log every opcode, with the two switches of that tracer, the time limit and the
 * overrides that are allowed; other tracers in `tracerConfig` and JavaScript are refused. Options without effect on `callTracer` are taken
 * and not passed on: `reexec` would let a client make the node compute state again for minutes. Of all this only options that are short are
 * parsed; the parameters before them, and overrides, go on as the client wrote them.
 */
export function checkTracerParams(params: string, at: number, limit: TracerLimit): CheckedParams {
  const values = splitElements(params);
  if (values.length < at) return refuse(invalidParams(`missing value for required argument ${values.length}`));
  if (values.length > at + 1) return refuse(invalidParams(`expected at most ${at + 1} parameters`));
  const given = values[at] ?? "null";
  return checkOptions(values.slice(0, at), given === "null" ? "{}" : given, limit);
}

/**
 * Checks tracer options that are the last parameter of a method of which no more is known. They have to be there, and nothing before
 * them may name a tracer.
 */
export function checkLastTracer(params: string, maxMs: number): CheckedParams {
  const values = parseParams(params);
  const before = values.slice(0, -1);
  const last = values.at(-1);
  if (!namesTracer(last)) return refuse(invalidParams('expected tracer options last: { tracer: "callTracer" }'));
  return before.some(namesTracer)
    ? refuse(refusal, "tracer")
    : checkOptions(splitElements(params).slice(0, -1), asBinary(JSON.stringify(last)), { maxMs, overrides: false });
}

/** Whether a value has a key by which some node reads a tracer, at any depth; nodes differ in whether they mind its case. */
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

function checkOptions(before: readonly string[], given: string, limit: TracerLimit): CheckedParams {
  const fields = readFields(given);
  if (fields === undefined) {
    return refuse(invalidParams(`expected an object of tracer options, of at most ${maxFields}`));
  }
  const wrong = findWrongOption(fields, limit.overrides);
  if (wrong !== undefined) return refuse(invalidParams(wrong));
  const named = parseShortValue(fields.get("tracer")) ?? undefined;
  const logged = structLogOptions.find((name) => (fields.get(name) ?? "null") !== "null");
  if (named === undefined && logged !== undefined) {
    return refuse(invalidParams(`struct logger not supported (${logged}): only callTracer is supported`), "tracer");
  }
  const tracer = named ?? "callTracer";
  if (tracer !== "callTracer") return refuse(refusal, "tracer");
  const tracerConfig = readSwitches(parseShortValue(fields.get("tracerConfig")) ?? {});
  if (tracerConfig === undefined) {
    return refuse(invalidParams("invalid tracerConfig: only onlyTopCall and withLog, true or false, are supported"));
  }
  const timeoutMs = readTimeout(parseShortValue(fields.get("timeout")));
  if (Number.isNaN(timeoutMs)) return refuse(invalidParams("invalid timeout: expected a time such as 5s or 500ms"));
  const options = JSON.stringify({
    tracer: "callTracer",
    ...(Object.keys(tracerConfig).length === 0 ? {} : { tracerConfig }),
    ...(timeoutMs === undefined ? {} : { timeout: `${Math.min(timeoutMs, limit.maxMs)}ms` }),
  });
  const overrides = [...fields].flatMap(([name, value]) => (overrideNames.has(name) ? [`,"${name}":${value}`] : []));
  return { kind: "pass", params: `[${[...before, `${options.slice(0, -1)}${overrides.join("")}}`].join(",")}]` };
}

/** Describes what is wrong with the options besides the tracer's own; undefined if nothing is. */
function findWrongOption(fields: ReadonlyMap<string, string>, mayOverride: boolean): string | undefined {
  const unknown = findUnknownField(fields, known);
  if (unknown !== undefined) return `unknown tracer option ${unknown}`;
  for (const [name, json] of fields) {
    const type = withoutEffect.get(name);
    if (type !== undefined && json !== "null" && typeof parseShortValue(json) !== type)
      return `invalid ${name}: expected a ${type}`;
    if (!overrideNames.has(name)) continue;
    if (!mayOverride) return `${name} is not supported here; the operator may allow it (limits.traceCallOverrides)`;
    const isRight = name === "txIndex" ? typeof parseShortValue(json) === "string" : json.startsWith("{");
    if (!isRight) return `invalid ${name}: expected ${name === "txIndex" ? "a hexadecimal number" : "an object"}`;
  }
  return undefined;
}

/** Reads the switches of `callTracer`; undefined if there is anything else. */
function readSwitches(given: unknown): Readonly<Record<string, boolean>> | undefined {
  const switches: Record<string, boolean> = {};
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  for (const [name, value] of Object.entries(given)) {
    if ((name !== "onlyTopCall" && name !== "withLog") || typeof value !== "boolean") return undefined;
    switches[name] = value;
  }
  return switches;
}

/** Reads a time as nodes do, in milliseconds; NaN if it is invalid, undefined if it is absent. */
function readTimeout(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const [, digits, unit] = (typeof value === "string" ? /^(\d{1,6})(ms|s)$/.exec(value) : null) ?? [];
  return Number(digits) * (unit === "s" ? 1_000 : 1);
}
