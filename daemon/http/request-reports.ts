import { Histogram, type Registry } from "prom-client";
import { BodyTooLargeError } from "../bytes.ts";
import { NotUtf8Error } from "../files/utf8.ts";
import { createBoundedLog } from "../log/bounded-log.ts";
import type { Logger } from "../log/log.ts";
import { ClientGoneError } from "./held-body.ts";
import { formatTraceInfo, type RequestTrace } from "./request-trace.ts";

const name = "gatehouse_http_request_duration_seconds";

type RequestLabel = "method" | "route" | "status";

export type EndRequest = (labels: Readonly<Record<RequestLabel, string | number>>) => void;

/** Reports a process's requests to its metrics and its log, the same way for requests with and without Hono. */
export type RequestReports = Readonly<{
  start: () => EndRequest;
  /** Returns the response to a request whose handler threw, and logs the error unless the client caused it. */
  answerError: (
    error: unknown,
    trace: RequestTrace,
    route: string,
  ) => Readonly<{ status: 400 | 413 | 500; body: object }>;
}>;

/** Creates the reports. All listeners of a process share one metric; without `metrics`, requests are not measured. */
export function createRequestReports({
  log,
  metrics,
}: Readonly<{ log: Logger; metrics: Registry | undefined }>): RequestReports {
  const duration = metrics && findDuration(metrics);
  const lines = createBoundedLog(log);
  return {
    start: () => duration?.startTimer() ?? (() => undefined),
    answerError: (error, trace, route) => {
      if (error instanceof BodyTooLargeError) return { status: 413, body: describeLargeBody(error.limitBytes) };
      if (error instanceof NotUtf8Error) {
        const { line, column } = error.position;
        return {
          status: 400,
          body: { error: `the body is not UTF-8 at line ${line}, column ${column}; encode it as UTF-8` },
        };
      }
      if (error instanceof ClientGoneError) {
        log.debug({ err: error }, "the client disconnected before its request was complete");
        // The client never reads this response; metrics count it as a client error.
        return { status: 400, body: {} };
      }
      lines.error({ event: "request-failed", err: error, ...formatTraceInfo(trace), route }, "request failed");
      return { status: 500, body: { error: "internal error", requestId: trace.requestId } };
    },
  };
}

export function describeLargeBody(limitBytes: number): Readonly<{ error: string }> {
  return { error: `the body exceeds ${limitBytes} bytes; send less` };
}

function findDuration(metrics: Registry): Histogram<RequestLabel> {
  const known = metrics.getSingleMetric(name) as Histogram<RequestLabel> | undefined;
  return (
    known ??
    new Histogram({
      name,
      help: "Time from a request's arrival to its response headers, by method, route and status.",
      labelNames: ["method", "route", "status"],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
      registers: [metrics],
    })
  );
}
