import { randomUUID } from "node:crypto";
import { readTraceId } from "#daemon/http/request-trace.ts";
import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { CompletedCall, Meter } from "./meter.ts";

/** Which calls are logged: a random share, and calls that take at least `slowMs` (0: none). */
export type AccessLogOptions = Readonly<{ sampleRatio: number; slowMs: number }>;

/**
 * Adds an access log, whose options may change at any time, to a meter. It logs a share of the calls, plus slow calls up to a limit,
 * because clients can make any number of slow calls; it never logs parameters.
 */
export function withAccessLog(
  meter: Meter,
  options: () => AccessLogOptions,
  { log, random }: Readonly<{ log: Logger; random: () => number }>,
): Meter {
  const lines = createBoundedLog(log);
  return {
    ...meter,
    call: (ended, count = 1) => {
      meter.call(ended, count);
      const { sampleRatio, slowMs } = options();
      const isSlow = slowMs > 0 && ended.seconds * 1_000 >= slowMs;
      if (!isSlow && sampleRatio === 0) return;
      for (let call = 0; call < count; call += 1) {
        if (isSlow) lines.warn({ event: "call-slow", ...buildEntry(ended) }, "slow call");
        else if (random() < sampleRatio) log.info({ event: "call", ...buildEntry(ended) }, "call");
      }
    },
  };
}

/** Builds the entry for a call. The trace id is read only here, since few calls are logged. */
function buildEntry({ method, tier, outcome, seconds, requestId, traceContext }: CompletedCall) {
  const traceId = traceContext && readTraceId(traceContext);
  const ms = Math.round(seconds * 1e6) / 1_000;
  return { method, tier, outcome, ms, requestId: requestId ?? randomUUID(), traceId };
}
