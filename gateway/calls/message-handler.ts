import type { Caller } from "../callers/identify.ts";
import { rpcErrors } from "../errors.ts";
import { isBad, type BadCall, type Call, type Message } from "../json-rpc/call.ts";
import { beginMessage, createMessageReader, readCallId } from "../json-rpc/read-message.ts";
import { ResponseMemory } from "../responses/response-memory.ts";
import { findTier } from "../policy.ts";
import {
  discardedResponse,
  finishedFlow,
  LateFlow,
  type ResponseFlow,
  type ResponseSink,
  EndingFlow,
  EndingSink,
} from "../responses/response-sink.ts";
import { largeBytes, smallMessageBytes } from "#daemon/memory/received-bytes.ts";
import { createTurns, turnBytes } from "../wire/shared-turns.ts";
import { runBatch } from "./batch.ts";
import { chooseBatchStrategy, startInTurn } from "./batch-strategy.ts";
import { CallAccounting, computeBytesCost } from "./call-accounting.ts";
import type { GatewayContext, MessageContext } from "./call-context.ts";
import { chargeCall, handleCall } from "./call-handler.ts";
import { CallRecord } from "./call-record.ts";
import { PlainReads } from "./plain-reads.ts";

/** Answers one request body or WebSocket message. An empty response means that nothing is sent. Never throws. */
export type MessageHandler = (body: Buffer, context: MessageContext, sink: ResponseSink) => ResponseFlow;

/**
 * Creates the message handler for single calls, notifications and batches. Short messages are parsed at once. Long ones are charged by size
 * first, then parsed over several ticks.
 */
export function createMessageHandler(context: GatewayContext): MessageHandler {
  const { tracing, turns, reads } = context;
  const readMessage = createMessageReader();

  const respond = (message: Message, account: CallAccounting, sink: ResponseSink) =>
    message.kind === "batch"
      ? respondToBatch(message.calls, account, sink)
      : respondToCall(message.call, account, sink);

  const respondToBatch = (
    calls: readonly (Call | BadCall)[],
    account: CallAccounting,
    sink: ResponseSink,
  ): ResponseFlow => {
    const trace = tracing?.batch(account.message, calls.length);
    const strategy = chooseBatchStrategy(account);
    account.batch = strategy;
    // A traced call needs its own span; a plain read has none.
    const isPlain = reads.isCaching && trace === undefined;
    const flow = runBatch(calls, account, strategy, {
      handle: (call, itemSink) => handleCall(account, call, itemSink, trace?.call()),
      sink: trace === undefined ? sink : new EndingSink(sink, trace.end),
      plainReads: isPlain ? (receiver) => new PlainReads(account, strategy, receiver) : undefined,
    });
    return trace === undefined ? flow : new EndingFlow(flow, trace.end);
  };

  const respondToCall = (call: Call | BadCall, account: CallAccounting, sink: ResponseSink): ResponseFlow => {
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
    const account = new CallAccounting(context, message, body.length > largeBytes);
    const { limits } = account.policy.settings;
    if (body.length <= smallMessageBytes) return respond(readMessage(body, limits), account, sink);
    const { key } = account;
    return chargeMessage(account, body, sink, (held) => {
      const readImmediately = () => respond(readMessage(body, limits), account, held);
      if (!account.hasPaidBytes)
        return turns.isTickUsedUp() ? startInTurn(turns, key, readImmediately) : readImmediately();
      return readInSteps(body, account, (read) => respond(read, account, held));
    });
  };
}

/**
 * Counts a message, unless it is small, in its connection's memory until it is answered. A large one is charged for its bytes before it is
 * parsed. Callers that can't pay are rejected with id null. `proceed` responds to the sink that it receives.
 */
function chargeMessage(
  account: CallAccounting,
  body: Buffer,
  sink: ResponseSink,
  proceed: (sink: ResponseSink) => ResponseFlow,
): ResponseFlow {
  const held = new ResponseMemory(account.message.memory);
  const release = () => held[Symbol.dispose]();
  const releasingSink = new EndingSink(sink, release);
  const recordAs = (id: string) => new CallRecord(account, { id, error: rpcErrors.invalidRequest }, releasingSink);
  const { limits, rateLimit } = account.policy.settings;
  if (!held.tryAcquire(body.length))
    return recordAs(readCallId(body, limits)).rejectTemporarily(rpcErrors.tooMuchHeld, 1, "memory");
  const go = () => proceed(releasingSink);
  const units = computeBytesCost(body.length, rateLimit.unitsPerKiB);
  return new EndingFlow(account.hasPaidBytes ? chargeCall(recordAs("null"), units, go) : go(), release);
}

/** Parses a message over several event loop ticks, then continues with it in a later tick. */
function readInSteps(body: Buffer, account: CallAccounting, proceed: (message: Message) => ResponseFlow): ResponseFlow {
  const { key, context, policy } = account;
  const messageResult = beginMessage(body, policy.settings.limits);
  const flow = new LateFlow();
  const step = () => {
    const message = messageResult.next();
    if (message !== undefined) context.turns.wait(key, () => flow.begin(() => proceed(message)));
    return message === undefined ? turnBytes : 0;
  };
  createTurns(context.turns, key).run(step, () => flow.isCancelled);
  return flow;
}

/** Decides from a request's head whether to accept its body. Does not charge: the body is charged once it is complete. */
export type BodyAdmission = Readonly<{
  /** Returns the seconds until the caller can pay for the body; undefined if the body is accepted now. */
  waitSeconds: (caller: Caller, lengthBytes: number) => number | undefined;
  rejected: (caller: Caller) => void;
}>;

export function admitBodies({
  policy,
  limiter,
  meter,
}: Pick<GatewayContext, "policy" | "limiter" | "meter">): BodyAdmission {
  return {
    waitSeconds: (caller, lengthBytes) => {
      const policyNow = policy();
      const { enabled, unitsPerKiB } = policyNow.settings.rateLimit;
      if (!enabled) return undefined;
      const waitMs = limiter.waitFor(
        caller.key,
        computeBytesCost(lengthBytes, unitsPerKiB),
        findTier(policyNow, caller),
      );
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000));
    },
    rejected: ({ tierName }) => meter.limited("rate", tierName),
  };
}
