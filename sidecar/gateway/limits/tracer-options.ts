import { invalidParams } from "../envelope/rpc-error.ts";
import { ownFields, parseParams, pass, refuse, type CheckedParams } from "./checked-params.ts";

const known: ReadonlySet<string> = new Set(["tracer", "tracerConfig", "timeout"]);
const refusal = invalidParams("tracer not supported: only callTracer is supported");

/**
 * Checks the tracer options at parameter `at` (specification, Limits: `callTracer` only). What goes to the node always names
 * `callTracer`, because without a tracer nodes log every opcode, and nothing but the two switches of that tracer; state and block
 * overrides, other tracers in `tracerConfig`, JavaScript and `reexec` are refused. The node is given no more than `mostMs`: it
 * would trace on for nobody.
 */
export function checkTracerParams(params: string, at: number, mostMs: number): CheckedParams {
  const values = parseParams(params);
  if (values.length < at) return refuse(invalidParams(`missing value for required argument ${values.length}`));
  if (values.length > at + 1) return refuse(invalidParams(`expected at most ${at + 1} parameters`));
  return checkOptions(values.slice(0, at), values[at] ?? {}, mostMs);
}

/**
 * Checks tracer options that are the last parameter of a method of which no more is known. They have to be there, and nothing before
 * them may name a tracer.
 */
export function checkLastTracer(params: string, mostMs: number): CheckedParams {
  const values = parseParams(params);
  const before = values.slice(0, -1);
  const last = values.at(-1);
  if (!namesTracer(last)) return refuse(invalidParams('expected tracer options last: { tracer: "callTracer" }'));
  return before.some(namesTracer) ? refuse(refusal, "tracer") : checkOptions(before, last, mostMs);
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

function checkOptions(before: readonly unknown[], given: unknown, mostMs: number): CheckedParams {
  const fields = ownFields(given);
  if (fields === undefined) return refuse(invalidParams("expected an object of tracer options"));
  for (const name of fields.keys()) {
    if (!known.has(name))
      return refuse(invalidParams("unknown tracer option: only tracer, tracerConfig and timeout are supported"));
  }
  const tracer = fields.get("tracer") ?? "callTracer";
  if (tracer !== "callTracer") return refuse(refusal, "tracer");
  const config = fields.get("tracerConfig") ?? undefined;
  const switches = config === undefined ? new Map<string, unknown>() : ownFields(config);
  if (switches === undefined) return refuse(invalidParams("invalid tracerConfig: expected an object"));
  const tracerConfig: Record<string, boolean> = {};
  for (const [name, value] of switches) {
    if ((name !== "onlyTopCall" && name !== "withLog") || typeof value !== "boolean") {
      return refuse(invalidParams("invalid tracerConfig: only onlyTopCall and withLog, true or false, are supported"));
    }
    tracerConfig[name] = value;
  }
  const timeoutMs = readTimeout(fields.get("timeout"));
  if (Number.isNaN(timeoutMs)) return refuse(invalidParams("invalid timeout: expected a time such as 5s or 500ms"));
  return pass([
    ...before,
    {
      tracer: "callTracer",
      ...(Object.keys(tracerConfig).length === 0 ? {} : { tracerConfig }),
      ...(timeoutMs === undefined ? {} : { timeout: `${Math.min(timeoutMs, mostMs)}ms` }),
    },
  ]);
}

/** A time as nodes read it, in milliseconds; NaN when it is none, undefined when there is none. */
function readTimeout(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const [, digits, unit] = (typeof value === "string" ? /^(\d{1,6})(ms|s)$/.exec(value) : null) ?? [];
  return Number(digits) * (unit === "s" ? 1_000 : 1);
}
