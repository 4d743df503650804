import type { ResponseSource } from "../responses/response-sink.ts";
import { randomUUID } from "node:crypto";
import { readTraceId, type TraceContext } from "#daemon/http/request-trace.ts";
import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { PolicySource } from "../policy.ts";
import type { Logger } from "#daemon/log/log.ts";

/** Outcome of a call, for the metrics: the source of its response, or the reason that there is none. */
export type CallOutcome =
  | Exclude<ResponseSource, "mixed">
  | "refused"
  | "limited"
  | "overload"
  | "failed"
  | "cancelled";

/** A limit that may reject something, as labeled in the metrics. */
export type LimitName = (typeof limitNames)[number];

export const limitNames = [
  "rate",
  "concurrency",
  "memory",
  "overload",
  "blockRange",
  "tracer",
  "batch",
  "message",
  "webSockets",
  "clients",
  "subscriptions",
] as const;

/** A completed call. */
export type CompletedCall = Readonly<{
  /** A name from the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  seconds: number;
  /** The client's request id, if it sent one. */
  requestId: string | undefined;
  /** Trace context from the client or from the gateway's own tracing. */
  traceContext?: TraceContext | undefined;
  /** Id of the gateway's own trace of the call, if there is one. */
  sampledTraceId?: string | undefined;
}>;

/** Counts and times the gateway's work. */
export type Meter = Readonly<{
  /** Counts a call, or `count` calls that all have these field values. */
  call: (ended: CompletedCall, count?: number) => void;
  /**
   * Counts a response or failure from the node, or `count` of them, with the time since the query, so that the gateway's own share of a
   * call's time can be distinguished.
   */
  node: (method: string, seconds: number, sampledTraceId?: string, count?: number) => void;
  /** Counts a call, batch, subscription or connection rejected by a limit. */
  limited: (limit: LimitName, tier: string) => void;
}>;

/**
 * Adds the policy's access log to a meter. It logs a share of the calls, plus slow calls up to a limit,
 * because clients can make any number of slow calls; it never logs parameters.
 */
export function withAccessLog(
  meter: Meter,
  policy: PolicySource,
  { log, random }: Readonly<{ log: Logger; random: () => number }>,
): Meter {
  const lines = createBoundedLog(log);
  return {
    ...meter,
    call: (ended, count = 1) => {
      meter.call(ended, count);
      const { sampleRatio, slowMs } = policy().settings.accessLog;
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

/** Number of calls of one kind since the start. Names come from the catalogue and the settings, so the number of kinds is bounded. */
export type CallCount = Readonly<{
  /** A name from the catalogue, or `unknown`. */
  method: string;
  tier: string;
  outcome: CallOutcome;
  count: number;
}>;

/** Number of a tier's calls rejected by one limit since the start. */
export type LimitedCount = Readonly<{ limit: LimitName; tier: string; count: number }>;

/** Calls and rejections since the gateway started. */
export type Traffic = Readonly<{ calls: readonly CallCount[]; limited: readonly LimitedCount[] }>;
