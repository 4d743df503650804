import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  createTraceState,
  trace,
  type Context,
  type Span,
  type Tracer,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
  type SpanExporter,
} from "@opentelemetry/sdk-trace-base";
import { lookupName } from "#daemon/http/name-lookup.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { Caller } from "../callers/identify.ts";
import type { GatewaySettings } from "../settings/sections.ts";
import type { CallOutcome, CompletedCall } from "./meter.ts";

export type TraceOrigin = Readonly<{ caller: Caller; traceContext: TraceContext | undefined }>;

export type CallTrace = Readonly<{
  /** Id of the trace; undefined if none of its spans is exported. */
  sampledTraceId: string | undefined;
  /** Starts the span for the request to the node. Returns the trace context to send with it. */
  requestNode: () => TraceContext;
  end: (ended: CompletedCall) => void;
}>;

/** Trace of one batch: a span that contains the spans of its calls. */
export type BatchTrace = Readonly<{ call: () => CallTrace; end: () => void }>;

/** Creates spans for messages. Spans never contain parameters, or names known only to a client. */
export type Tracing = Readonly<{
  call: (origin: TraceOrigin) => CallTrace;
  batch: (origin: TraceOrigin, items: number) => BatchTrace;
}>;

/** The running tracing, or a no-op. Disposing of it exports the pending spans. */
export type RunningTracing = AsyncDisposable & Readonly<{ tracing: Tracing | undefined }>;

/** Interval between span exports, and max spans per export. */
const sendIntervalMs = 2_000;
const spansInOneSending = 512;

/** Cache state of a call, by the source of the response. */
const cacheStates: Partial<Record<CallOutcome, string>> = { cache: "hit", coalesced: "coalesced", node: "miss" };

/** Starts creating spans and exporting them via OTLP over HTTP (OpenTelemetry protocol, JSON encoding). */
export function startOtlpTracing(
  otlpUrl: string,
  { authorization, queuedSpans, timeoutMs, sampleRatio, serviceName }: GatewaySettings["tracing"],
  log: Logger,
): RunningTracing {
  const exporter = new OTLPTraceExporter({
    url: otlpUrl,
    timeoutMillis: timeoutMs,
    httpAgentOptions: { keepAlive: true, lookup: lookupName },
    headers: authorization === undefined ? {} : { Authorization: authorization.reveal() },
  });
  const provider = new BasicTracerProvider({
    sampler: createCallSampler(sampleRatio),
    resource: resourceFromAttributes({ "service.name": serviceName }),
    spanProcessors: [
      new BatchSpanProcessor(createLoggedExporter(exporter, { url: otlpUrl, log }), {
        maxQueueSize: queuedSpans,
        maxExportBatchSize: Math.min(spansInOneSending, queuedSpans),
        scheduledDelayMillis: sendIntervalMs,
        exportTimeoutMillis: timeoutMs,
      }),
    ],
  });
  const tracer = provider.getTracer("gatehouse-gateway");
  return {
    tracing: {
      call: (origin) => startCall(tracer, SpanKind.SERVER, origin, buildParentContext(origin)),
      batch: (origin, items) => {
        const span = startSpan(tracer, "batch", SpanKind.SERVER, origin, buildParentContext(origin));
        span.setAttribute("gatehouse.batch_items", items);
        const spanContext = trace.setSpan(ROOT_CONTEXT, span);
        return { call: () => startCall(tracer, SpanKind.INTERNAL, origin, spanContext), end: () => span.end() };
      },
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await provider.shutdown();
      } catch (error) {
        log.warn({ event: "spans-not-sent", err: error }, "the last spans could not be sent");
      }
    },
  };
}

function startSpan(tracer: Tracer, name: string, kind: SpanKind, { caller }: TraceOrigin, parent: Context): Span {
  const attributes = {
    "rpc.system": "jsonrpc",
    "rpc.jsonrpc.version": "2.0",
    "gatehouse.listener": caller.listener,
    "gatehouse.tier": caller.tierName,
  };
  return tracer.startSpan(name, { kind, attributes }, parent);
}

function startCall(tracer: Tracer, kind: SpanKind, origin: TraceOrigin, parent: Context): CallTrace {
  const span = startSpan(tracer, "call", kind, origin, parent);
  let nodeSpan: Span | undefined;
  return {
    sampledTraceId: span.isRecording() ? span.spanContext().traceId : undefined,
    requestNode: () => {
      nodeSpan ??= startSpan(tracer, "node", SpanKind.CLIENT, origin, trace.setSpan(ROOT_CONTEXT, span));
      return buildTraceContext(nodeSpan);
    },
    end: (ended) => {
      // A coalesced read sent nothing to the node; its span never ends, so it is never exported.
      if (nodeSpan !== undefined && ended.outcome !== "coalesced") finish(nodeSpan, `node ${ended.method}`, ended);
      span.setAttribute("gatehouse.cache", cacheStates[ended.outcome] ?? "none");
      if (ended.requestId !== undefined) span.setAttribute("gatehouse.request_id", ended.requestId);
      finish(span, ended.method, ended);
    },
  };
}

function finish(span: Span, name: string, { method, outcome }: CompletedCall): void {
  span.updateName(name);
  span.setAttributes({ "rpc.method": method, "gatehouse.outcome": outcome });
  if (outcome === "failed") span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Builds the context that continues a client's trace (W3C Trace Context, section 3.2). */
function buildParentContext({ traceContext }: TraceOrigin): Context {
  const [, traceId, spanId, flags] = traceContext?.traceparent.split("-") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(traceContext?.tracestate === undefined ? {} : { traceState: createTraceState(traceContext.tracestate) }),
  });
}

function buildTraceContext(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 1).toString().padStart(2, "0")}`;
  return { traceparent, tracestate: traceState?.serialize() };
}

/**
 * Creates the trace sampler. On the public listener, it samples a share by trace id, whatever callers request: otherwise anyone could have
 * every call traced. Callers of the other listeners may request a trace through the sampled flag in their `traceparent`.
 */
function createCallSampler(sampleRatio: number): Sampler {
  const share = new TraceIdRatioBasedSampler(sampleRatio);
  const alwaysSampler = new AlwaysOnSampler();
  return new ParentBasedSampler({
    root: share,
    remoteParentNotSampled: new AlwaysOffSampler(),
    remoteParentSampled: {
      shouldSample: (context, traceId, _name, _kind, attributes) =>
        attributes["gatehouse.listener"] === "public"
          ? share.shouldSample(context, traceId)
          : alwaysSampler.shouldSample(),
      toString: () => "ByListener",
    },
  });
}

/** Creates an exporter that logs when exports start to fail and when they recover; spans in between are lost. */
function createLoggedExporter(
  exporter: SpanExporter,
  { url, log }: Readonly<{ url: string; log: Logger }>,
): SpanExporter {
  let isWorking = true;
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        const works = result.error === undefined && result.code === 0;
        if (works !== isWorking && works) log.info({ event: "spans-recovered", url }, "sending spans works again");
        else if (works !== isWorking)
          log.warn(
            { event: "spans-not-sent", err: result.error, url },
            "spans can't be sent; check tracing.otlpUrl of the gateway",
          );
        isWorking = works;
        done(result);
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
