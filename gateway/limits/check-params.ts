import type { Method } from "../catalogue/method.ts";
import type { ChainHead } from "../chain/head.ts";
import { limitGas, limitRepeatedGas } from "./call-gas.ts";
import type { CheckedParams, RangeLimit } from "./checked-params.ts";
import { checkLogParams } from "./log-filter.ts";
import { checkTraceParams } from "./trace-filter.ts";
import { checkLastTracer, checkTracerParams } from "./tracer-options.ts";

export type ParamLimits = Readonly<{
  logs: () => RangeLimit;
  trace: () => RangeLimit;
  /** Whether `debug_traceCall` accepts state and block overrides. */
  traceCallOverrides: boolean;
  /** Max gas that a call may specify. */
  callGas: number;
}>;

/** Checks a method's parameters (JSON text of an array) against the limit that the catalogue specifies for it. */
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
    case "gas":
      return (method.limit.isRepeated === true ? limitRepeatedGas : limitGas)(params, limits.callGas);
    case "tracer": {
      // Only calls have overrides and gas.
      const capped = method.limit.overrides === true ? limitRepeatedGas(params, limits.callGas) : undefined;
      if (capped?.kind === "refuse") return capped;
      const { params: checked, gas } = capped?.kind === "pass" ? capped : { params };
      const traced = checkTracerParams(checked, method.limit.at, {
        maxMs: method.timeoutMs,
        overrides: method.limit.overrides === true && limits.traceCallOverrides,
      });
      return traced.kind === "pass" && gas !== undefined ? { ...traced, gas } : traced;
    }
    case "lastTracer":
      return checkLastTracer(params, method.timeoutMs);
    case undefined:
      return { kind: "pass", params };
  }
}
