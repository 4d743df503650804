import type { Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/head.ts";
import type { CheckedParams, RangeLimit } from "./checked-params.ts";
import { checkLogParams } from "./log-filter.ts";
import { checkTraceParams } from "./trace-filter.ts";
import { checkLastTracer, checkTracerParams } from "./tracer-options.ts";

/** Limits that parameters are checked against. */
export type ParamLimits = Readonly<{
  logs: () => RangeLimit;
  trace: () => RangeLimit;
  /** Whether `debug_traceCall` takes state and block overrides. */
  traceCallOverrides: boolean;
}>;

/** Checks a method's parameters (JSON text of an array) against the limit that the catalogue names for it. */
export function checkParams(
  method: Method,
  params: string,
  head: ChainHead | undefined,
  limits: ParamLimits,
): CheckedParams {
  switch (method.limit?.kind) {
    case "logs":
      return checkLogParams(params, head, limits.logs());
    case "logsAtOnce":
      return checkLogParams(params, head, { ...limits.logs(), splitBlocks: 0 });
    case "traceRange":
      return checkTraceParams(params, head, limits.trace());
    case "tracer":
      return checkTracerParams(params, method.limit.at, {
        maxMs: method.timeoutMs,
        overrides: method.limit.overrides === true && limits.traceCallOverrides,
      });
    case "lastTracer":
      return checkLastTracer(params, method.timeoutMs);
    case undefined:
      return { kind: "pass", params };
  }
}
