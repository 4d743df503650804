import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import type { Logger } from "#daemon/log.ts";

/** An exporter that tells in the log when spans can't be sent, and when they can again; spans in between are lost. */
export function loggedExporter(
  exporter: SpanExporter,
  { url, log }: Readonly<{ url: string; log: Logger }>,
): SpanExporter {
  let isWorking = true;
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        const works = result.error === undefined && result.code === 0;
        if (works !== isWorking && works) log.info({ url }, "spans are sent again");
        else if (works !== isWorking)
          log.warn({ err: result.error, url }, "spans can't be sent; check tracing.otlpUrl of the gateway");
        isWorking = works;
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
