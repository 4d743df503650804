import { goneTier, type Caller } from "../callers/caller.ts";
import { makeMessageReader } from "../envelope/known-messages.ts";
import { tracedFlow, tracedSink, type Tracing } from "../observe/tracing.ts";
import type { Policy, PolicySource } from "../policy/policy.ts";
import { discardedAnswer, finishedFlow, type AnswerFlow, type AnswerSink } from "./answer-sink.ts";
import { runBatch } from "./batch.ts";
import type { CallHandler } from "./call-handler.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TraceContext } from "../observe/trace-context.ts";

/** What came with a message beside its bytes. */
export type MessageContext = Readonly<{
  caller: Caller;
  traceContext: TraceContext | undefined;
  requestId?: string | undefined;
  /** Subscriptions of the caller's WebSocket; over HTTP there are none. */
  subscriptions?: Subscriptions | undefined;
}>;

/** Answers one request body or WebSocket message. An answer of empty text means that nothing is to be said. Never throws. */
export type MessageHandler = (body: Buffer, context: MessageContext, sink: AnswerSink) => AnswerFlow;

/** What handling messages takes. */
export type MessageDependencies = Readonly<{
  policy: PolicySource;
  handle: CallHandler;
  tracing: Tracing | undefined;
  now: () => number;
}>;

/** Calls of one batch at a time: never more than its caller may have under way, or a batch would refuse its own calls. */
function parallelFor({ settings, tiers }: Policy, { tierName }: Caller): number {
  return Math.min(settings.limits.batchParallel, (tiers.get(tierName) ?? goneTier).concurrency);
}

/** Makes the handler of messages: single calls, notifications and batches. */
export function makeMessageHandler({ policy, handle, tracing, now }: MessageDependencies): MessageHandler {
  const readMessage = makeMessageReader();
  return (body, origin, sink) => {
    const { limits } = policy().settings;
    const { caller, traceContext, requestId, subscriptions } = origin;
    const startedAt = now();
    const message = readMessage(body, limits);
    if (message.kind === "batch") {
      const trace = tracing?.batch(origin, message.calls.length);
      const context = { caller, startedAt, traceContext, requestId, trace: undefined, subscriptions };
      const flow = runBatch(
        message.calls,
        { parallel: parallelFor(policy(), origin.caller), responseBytes: limits.batchResponseBytes },
        {
          handle: (call, itemSink) =>
            handle(call, trace === undefined ? context : { ...context, trace: trace.call() }, itemSink),
          sink: trace === undefined ? sink : tracedSink(sink, trace),
        },
      );
      return trace === undefined ? flow : tracedFlow(flow, trace);
    }
    const context = { caller, startedAt, traceContext, requestId, trace: tracing?.call(origin), subscriptions };
    const { call } = message;
    if (call.id !== undefined) return handle(call, context, sink);
    handle(call, context, discardedAnswer);
    sink.text("", "gateway");
    return finishedFlow;
  };
}
