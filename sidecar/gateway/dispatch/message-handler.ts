import type { Caller } from "../callers/caller.ts";
import type { Message } from "../envelope/call.ts";
import { makeMessageReader } from "../envelope/known-messages.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import { tracedFlow, tracedSink, type Tracing } from "../observe/tracing.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import type { PolicySource } from "../policy/policy.ts";
import type { NodeBatches } from "../upstream/node-batches.ts";
import { discardedAnswer, finishedFlow, type AnswerFlow, type AnswerSink } from "./answer-sink.ts";
import { runBatch } from "./batch.ts";
import { batchWay } from "./batch-way.ts";
import type { CallHandler } from "./call-handler.ts";
import { inTurn } from "./in-turn.ts";
import { largeBytes, readInTurns, type MessageCharge } from "./large-message.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TraceContext } from "../observe/trace-context.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { makeTurns } from "./turns.ts";

/** What came with a message beside its bytes. */
export type MessageContext = Readonly<{
  caller: Caller;
  /** What is held for the caller's connection. */
  memory: HeldBytes;
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
  charge: MessageCharge;
  tracing: Tracing | undefined;
  turns: SharedTurns;
}>;

/**
 * Makes the handler of messages: single calls, notifications and batches. Short ones are read at once; the bytes of long ones are charged
 * first, and they are read in turns.
 */
export function makeMessageHandler(dependencies: MessageDependencies): MessageHandler {
  const { policy, handle, charge, tracing, turns } = dependencies;
  const readMessage = makeMessageReader();

  const answer = (
    message: Message,
    origin: MessageContext,
    { came, sink }: Readonly<{ came: Came; sink: AnswerSink }>,
  ) => {
    const { caller, memory, traceContext, requestId, subscriptions } = origin;
    const common = { caller, memory, ...came, traceContext, requestId, subscriptions };
    if (message.kind === "batch") {
      const { limits } = policy().settings;
      const trace = tracing?.batch(origin, message.calls.length);
      const way = batchWay(policy(), caller, dependencies);
      const context = { ...common, trace: undefined, batch: way.batch };
      const flow = runBatch(
        message.calls,
        { ahead: way.ahead, responseBytes: limits.batchResponseBytes },
        {
          handle: (call, itemSink) =>
            handle(call, trace === undefined ? context : { ...context, trace: trace.call() }, itemSink),
          sink: trace === undefined ? sink : tracedSink(sink, trace),
          memory,
          turns: makeTurns(turns, caller.key),
          toNode: way.toNode,
        },
      );
      return trace === undefined ? flow : tracedFlow(flow, trace);
    }
    const context = { ...common, trace: tracing?.call(origin) };
    const { call } = message;
    if (call.id !== undefined) return handle(call, context, sink);
    handle(call, context, discardedAnswer);
    sink.text("", "gateway");
    return finishedFlow;
  };
  return (body, origin, sink) => {
    const { limits } = policy().settings;
    const startedAt = turns.now();
    if (body.length <= largeBytes) {
      const read = () => answer(readMessage(body, limits), origin, { came: { startedAt, hasPaidBytes: false }, sink });
      return body.length > shortBytes && turns.isOver() ? inTurn(turns, origin.caller.key, read) : read();
    }
    const came = { startedAt, hasPaidBytes: true };
    return charge(body, { context: { ...origin, ...came }, sink }, () =>
      readInTurns(body, limits, {
        turns,
        caller: origin.caller.key,
        proceed: (message) => answer(message, origin, { came, sink }),
      }),
    );
  };
}

/** Longest message that is read at once, however much else there is to do. */
const shortBytes = 4_096;

type Came = Readonly<{ startedAt: number; hasPaidBytes: boolean }>;
