import { invalidParams } from "../envelope/rpc-error.ts";
import { ownFields, parseParams, pass, refuse, type CheckedParams } from "./checked-params.ts";

const known: ReadonlySet<string> = new Set(["tracer", "tracerConfig", "timeout"]);
const refusal = invalidParams("tracer not supported: only callTracer is supported");

/**
 * Checks the tracer options at parameter `at` (specification, Limits: `callTracer` only). What goes to the node names
 * `callTracer` whenever options are given and nothing but the two switches of that tracer; state and block overrides,
 * other tracers in `tracerConfig`, JavaScript and `reexec` are refused.
 */
export function checkTracerParams(params: string, at: number): CheckedParams {
  const values = parseParams(params);
  const given = values[at];
  const before = values.slice(0, at);
  if (values.length > at + 1) return refuse(invalidParams(`expected at most ${at + 1} parameters`));
  // Without a tracer nodes log every opcode; the specification has callTracer only.
  if (given === undefined || given === null) {
    return before.length < at ? { kind: "pass", params } : pass([...before, { tracer: "callTracer" }]);
  }
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
  const timeout = fields.get("timeout");
  if (timeout !== undefined && (typeof timeout !== "string" || !/^\d{1,4}(ms|s)$/.test(timeout))) {
    return refuse(invalidParams("invalid timeout: expected a time such as 5s or 500ms"));
  }
  return pass([
    ...before,
    {
      tracer: "callTracer",
      ...(Object.keys(tracerConfig).length === 0 ? {} : { tracerConfig }),
      ...(timeout === undefined ? {} : { timeout }),
    },
  ]);
}
