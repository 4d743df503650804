import type { Caller } from "../callers/caller.ts";
import { makeMessageReader } from "../envelope/known-messages.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import { tracedFlow, tracedSink, type Tracing } from "../observe/tracing.ts";
import type { PolicySource } from "../policy/policy.ts";
import type { NodeBatches } from "../upstream/node-batches.ts";
import { discardedAnswer, finishedFlow, type AnswerFlow, type AnswerSink } from "./answer-sink.ts";
import { runBatch } from "./batch.ts";
import { batchWay } from "./batch-way.ts";
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
  gate: LoadGate;
  nodeBatches: NodeBatches;
  tracing: Tracing | undefined;
  now: () => number;
}>;

/** Makes the handler of messages: single calls, notifications and batches. */
export function makeMessageHandler(dependencies: MessageDependencies): MessageHandler {
  const { policy, handle, tracing, now } = dependencies;
  const readMessage = makeMessageReader();
  return (body, origin, sink) => {
    const { limits } = policy().settings;
    const { caller, traceContext, requestId, subscriptions } = origin;
    const startedAt = now();
    const message = readMessage(body, limits);
    if (message.kind === "batch") {
      const trace = tracing?.batch(origin, message.calls.length);
      const way = batchWay(policy(), caller, dependencies);
      const context = { caller, startedAt, traceContext, requestId, trace: undefined, subscriptions, batch: way.batch };
      const flow = runBatch(
        message.calls,
        { ahead: way.ahead, responseBytes: limits.batchResponseBytes },
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
