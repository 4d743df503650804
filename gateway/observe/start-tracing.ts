import type { Logger } from "#daemon/log/log.ts";
import type { RunningTracing, TracingOptions } from "./tracing.ts";

/** Starts tracing if the settings specify a collector; otherwise OpenTelemetry's SDK is not even loaded. */
export async function startTracing(
  { otlpUrl, ...options }: TracingOptions,
  { log }: Readonly<{ log: Logger }>,
): Promise<RunningTracing> {
  if (otlpUrl === undefined) return { tracing: undefined, [Symbol.asyncDispose]: async () => undefined };
  const { startOtlpTracing } = await import("./otlp-tracing.ts");
  return startOtlpTracing({ ...options, otlpUrl }, { log });
}
