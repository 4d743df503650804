import { isBad, type BadCall, type Call, type Message } from "../json-rpc/call.ts";
import { createMessageReader } from "../json-rpc/known-messages.ts";
import type { Tracing } from "../observe/tracing.ts";
import { ResponseMemory } from "../memory/response-memory.ts";
import type { NodeReads } from "../reads/node-reads.ts";
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
import { CallAccount } from "./call-account.ts";
import type { CallDependencies, MessageContext } from "./call-context.ts";
import { handleCall } from "./call-handler.ts";
import { chargeMessage, readInTurns } from "./large-message.ts";
import { PlainReads } from "./plain-reads.ts";
import { largeBytes, smallMessageBytes } from "../wire/received-bytes.ts";
import { type SharedTurns, createTurns } from "../wire/shared-turns.ts";

/** Answers one request body or WebSocket message. An empty response means that nothing is sent. Never throws. */
export type MessageHandler = (body: Buffer, context: MessageContext, sink: ResponseSink) => ResponseFlow;

/** Dependencies shared by all messages of a gateway. */
export type MessageDependencies = CallDependencies &
  Readonly<{
    /** Serves the plain calls in batches; if undefined, all calls are handled one by one. */
    plainReads: NodeReads | undefined;
    nodeBatches: NodeBatches;
    tracing: Tracing | undefined;
    turns: SharedTurns;
  }>;

/**
 * Creates the message handler for single calls, notifications and batches. Short messages are parsed at once. Long ones are charged by size
 * first, then parsed over several ticks.
 */
export function createMessageHandler(dependencies: MessageDependencies): MessageHandler {
  const { tracing, turns } = dependencies;
  const readMessage = createMessageReader();

  const answer = (message: Message, account: CallAccount, sink: ResponseSink) =>
    message.kind === "batch" ? answerBatch(message.calls, account, sink) : answerCall(message.call, account, sink);

  const answerBatch = (calls: readonly (Call | BadCall)[], account: CallAccount, sink: ResponseSink): ResponseFlow => {
    const trace = tracing?.batch(account.message, calls.length);
    const way = chooseBatchStrategy(account, dependencies.nodeBatches);
    account.batch = way;
    const { plainReads } = dependencies;
    const flow = runBatch(
      calls,
      { ahead: way.ahead, responseBytes: account.policy.settings.limits.batchResponseBytes },
      {
        handle: (call, itemSink) => handleCall(account, call, itemSink, trace?.call()),
        sink: trace === undefined ? sink : new EndingSink(sink, trace.end),
        memory: account.message.memory,
        turns: createTurns(turns, account.key),
        plainReads:
          plainReads === undefined || trace !== undefined
            ? undefined
            : (receiver) => new PlainReads(plainReads, account, way, receiver),
        toNode: way.sender,
        onResume: way.onResume,
      },
    );
    return trace === undefined ? flow : new EndingFlow(flow, trace.end);
  };

  const answerCall = (call: Call | BadCall, account: CallAccount, sink: ResponseSink): ResponseFlow => {
    const trace = tracing?.call(account.message);
    if (call.id !== undefined) return handleCall(account, call, sink, trace);
    // The message gets its empty response before the call ends.
    const own = new ResponseMemory(account.message.memory);
    const paramsBytes = isBad(call) ? 0 : (call.params?.length ?? 0);
    if (paramsBytes > smallMessageBytes) own.hold(paramsBytes);
    handleCall(account, call, new EndingSink(discardedResponse, () => own[Symbol.dispose]()), trace);
    sink.text("", "gateway");
    return finishedFlow;
  };

  return (body, message, sink) => {
    const account = new CallAccount(dependencies, message, body.length > largeBytes);
    const { limits } = account.policy.settings;
    if (body.length <= smallMessageBytes) return answer(readMessage(body, limits), account, sink);
    const { key } = account;
    return chargeMessage(account, body, sink, (held) => {
      const readAtOnce = () => answer(readMessage(body, limits), account, held);
      if (!account.hasPaidBytes) return turns.isOver() ? startInTurn(turns, key, readAtOnce) : readAtOnce();
      return readInTurns(body, limits, { turns, caller: key, proceed: (read) => answer(read, account, held) });
    });
  };
}
