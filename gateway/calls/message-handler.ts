import { isBad, type BadCall, type Call, type Message } from "../json-rpc/call.ts";
import { createMessageReader } from "../json-rpc/known-messages.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { Tracing } from "../observe/tracing.ts";
import { HeldScope } from "../memory/held-scope.ts";
import type { PolicySource } from "../policy.ts";
import type { NodeBatches } from "../upstream/node-batches.ts";
import {
  discardedResponse,
  finishedFlow,
  type ResponseFlow,
  type ResponseSink,
  EndingFlow,
  EndingSink,
} from "../responses/response-sink.ts";
import { runBatch } from "./batch.ts";
import { chooseBatchStrategy, startInTurn } from "./batch-strategy.ts";
import type { CallContext, MessageContext } from "./call-context.ts";
import { PlainReads, type PlainReadsDependencies } from "./plain-reads.ts";
import type { CallHandler } from "./call-handler.ts";
import { largeBytes, readInTurns, type MessageCharge } from "./large-message.ts";
import { smallMessageBytes } from "../wire/received-bytes.ts";
import { type SharedTurns, createTurns } from "../wire/shared-turns.ts";

/** Answers one request body or WebSocket message. An empty response means that nothing is sent. Never throws. */
export type MessageHandler = (body: Buffer, context: MessageContext, sink: ResponseSink) => ResponseFlow;

/** Dependencies shared by all messages of a gateway. */
export type MessageDependencies = Readonly<{
  policy: PolicySource;
  handle: CallHandler;
  /** Dependencies of plain reads in batches; if undefined, all calls go to `handle`. */
  plainReads?: PlainReadsDependencies | undefined;
  gate: LoadGate;
  nodeBatches: NodeBatches;
  charge: MessageCharge;
  tracing: Tracing | undefined;
  turns: SharedTurns;
}>;

/**
 * Creates the message handler for single calls, notifications and batches. Short messages are parsed at once. Long ones are charged by size
 * first, then parsed over several ticks.
 */
export function createMessageHandler(dependencies: MessageDependencies): MessageHandler {
  const { policy, handle, charge, tracing, turns } = dependencies;
  const readMessage = createMessageReader();

  const answer = (message: Message, arrived: CallContext, sink: ResponseSink) =>
    message.kind === "batch" ? answerBatch(message.calls, arrived, sink) : answerCall(message.call, arrived, sink);

  const answerBatch = (calls: readonly (Call | BadCall)[], arrived: CallContext, sink: ResponseSink): ResponseFlow => {
    const { caller, memory } = arrived;
    const trace = tracing?.batch(arrived, calls.length);
    const way = chooseBatchStrategy(policy(), caller, dependencies);
    const context = { ...arrived, batch: way.batch };
    const { plainReads } = dependencies;
    const flow = runBatch(
      calls,
      { ahead: way.ahead, responseBytes: policy().settings.limits.batchResponseBytes },
      {
        handle: (call, itemSink) =>
          handle(call, trace === undefined ? context : { ...context, trace: trace.call() }, itemSink),
        sink: trace === undefined ? sink : new EndingSink(sink, trace.end),
        memory,
        turns: createTurns(turns, caller.key),
        plainReads:
          plainReads === undefined || trace !== undefined
            ? undefined
            : (receiver) => new PlainReads(plainReads, context, { ...way, gate: way.batch.gate }, receiver),
        toNode: way.toNode,
        onResume: way.onResume,
      },
    );
    return trace === undefined ? flow : new EndingFlow(flow, trace.end);
  };

  const answerCall = (call: Call | BadCall, arrived: CallContext, sink: ResponseSink): ResponseFlow => {
    const context = tracing === undefined ? arrived : { ...arrived, trace: tracing.call(arrived) };
    if (call.id !== undefined) return handle(call, context, sink);
    // The message gets its empty response before the call ends.
    const own = new HeldScope(arrived.memory);
    const paramsBytes = isBad(call) ? 0 : (call.params?.length ?? 0);
    if (paramsBytes > smallMessageBytes) own.hold(paramsBytes);
    handle(call, context, new EndingSink(discardedResponse, () => own[Symbol.dispose]()));
    sink.text("", "gateway");
    return finishedFlow;
  };

  return (body, { caller, memory, traceContext, requestId, subscriptions }, sink) => {
    const { limits } = policy().settings;
    const hasPaidBytes = body.length > largeBytes;
    const arrived = { caller, memory, traceContext, requestId, subscriptions, startedAt: turns.now(), hasPaidBytes };
    if (body.length <= smallMessageBytes) return answer(readMessage(body, limits), arrived, sink);
    const { key } = caller;
    return charge(body, { context: arrived, sink }, (held) => {
      const readAtOnce = () => answer(readMessage(body, limits), arrived, held);
      if (!hasPaidBytes) return turns.isOver() ? startInTurn(turns, key, readAtOnce) : readAtOnce();
      const proceed = (message: Message) => answer(message, arrived, held);
      return readInTurns(body, limits, { turns, caller: key, proceed });
    });
  };
}
