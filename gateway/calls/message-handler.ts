import type { Caller } from "../callers/caller.ts";
import { isBad, type Message } from "../json-rpc/call.ts";
import { createMessageReader } from "../json-rpc/known-messages.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { Tracing } from "../observe/tracing.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import { HeldScope } from "../memory/held-scope.ts";
import type { PolicySource } from "../policy/policy.ts";
import type { NodeBatches } from "../upstream/node-batches.ts";
import { discardedAnswer, finishedFlow, type AnswerFlow, type AnswerSink } from "../answers/answer-sink.ts";
import { runBatch } from "./batch.ts";
import { batchWay } from "./batch-way.ts";
import type { CallHandler } from "./call-handler.ts";
import { EndingFlow, EndingSink } from "./ending-sink.ts";
import { inTurn } from "./in-turn.ts";
import { largeBytes, readInTurns, smallBytes, type MessageCharge } from "./large-message.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TraceContext } from "../wire/trace-context.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { createTurns } from "../wire/turns.ts";

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
 * Creates the handler of messages: single calls, notifications and batches. Short ones are read at once; the bytes of long ones are charged
 * first, and they are read in turns.
 */
export function createMessageHandler(dependencies: MessageDependencies): MessageHandler {
  const { policy, handle, charge, tracing, turns } = dependencies;
  const readMessage = createMessageReader();

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
          sink: trace === undefined ? sink : new EndingSink(sink, trace.end),
          memory,
          turns: createTurns(turns, caller.key),
          toNode: way.toNode,
        },
      );
      return trace === undefined ? flow : new EndingFlow(flow, trace.end);
    }
    const context = { ...common, trace: tracing?.call(origin) };
    const { call } = message;
    if (call.id !== undefined) return handle(call, context, sink);
    // Its message is answered, with nothing, before it is over.
    const own = new HeldScope(memory);
    const paramsBytes = isBad(call) ? 0 : (call.params?.length ?? 0);
    if (paramsBytes > smallBytes) own.hold(paramsBytes);
    handle(call, context, new EndingSink(discardedAnswer, () => own[Symbol.dispose]()));
    sink.text("", "gateway");
    return finishedFlow;
  };
  return (body, origin, sink) => {
    const { limits } = policy().settings;
    const startedAt = turns.now();
    const came = { startedAt, hasPaidBytes: body.length > largeBytes };
    const readAtOnce = (to: AnswerSink) => answer(readMessage(body, limits), origin, { came, sink: to });
    if (body.length <= smallBytes) return readAtOnce(sink);
    const { key } = origin.caller;
    return charge(body, { context: { ...origin, ...came }, sink }, (held) => {
      if (!came.hasPaidBytes) return turns.isOver() ? inTurn(turns, key, () => readAtOnce(held)) : readAtOnce(held);
      const proceed = (message: Message) => answer(message, origin, { came, sink: held });
      return readInTurns(body, limits, { turns, caller: key, proceed });
    });
  };
}

type Came = Readonly<{ startedAt: number; hasPaidBytes: boolean }>;
