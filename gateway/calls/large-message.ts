import type { Message, MessageLimits } from "../json-rpc/call.ts";
import { beginMessage, isBatch, readMessage } from "../json-rpc/read-message.ts";
import { rpcErrors } from "../errors.ts";
import { HeldScope } from "../memory/held-scope.ts";
import type { ResponseFlow, ResponseSink } from "../answers/answer-sink.ts";
import { rejectCall, EndingFlow, EndingSink, LateFlow } from "./call-end.ts";
import type { CallContext } from "./call-context.ts";
import type { CallDependencies } from "./call-dependencies.ts";
import { CallRecord } from "./call-record.ts";
import { chargeCall } from "./charge.ts";
import { type SharedTurns, createTurns, turnBytes } from "../wire/shared-turns.ts";

/** Size at which a message is charged before it is parsed, and is parsed over several ticks. */
export const largeBytes = 65_536;

/** Max length of a message that is parsed at once, regardless of load, and that is not counted as buffered until it is answered. */
export const smallBytes = 4_096;

const bytesOfKiB = 1_024;

/** Computes the cost of a message's bytes, in compute units. */
export function priceBytes(lengthBytes: number, unitsPerKiB: number): number {
  return Math.floor(lengthBytes / bytesOfKiB) * unitsPerKiB;
}

/**
 * Counts a message in its connection's memory until it is answered, and charges the bytes of a large one before it is parsed. Callers that
 * can't pay are rejected with id null. `proceed` responds to the sink that it receives.
 */
export type MessageCharge = (
  body: Buffer,
  from: Readonly<{ context: CallContext; sink: ResponseSink }>,
  proceed: (sink: ResponseSink) => ResponseFlow,
) => ResponseFlow;

/** Creates the charge for messages that are not small. */
export function createMessageCharge(dependencies: CallDependencies): MessageCharge {
  return (body, { context, sink }, proceed) => {
    const held = new HeldScope(context.memory);
    const letGo = () => held[Symbol.dispose]();
    const releasing = new EndingSink(sink, letGo);
    const recordAs = (id: string) =>
      new CallRecord(dependencies, { id, error: rpcErrors.invalidRequest }, context, releasing);
    const { limits, rateLimit } = dependencies.policy().settings;
    if (!held.tryAcquire(body.length))
      return rejectCall(recordAs(readId(body, limits)), rpcErrors.tooMuchHeld, 1, "memory");
    const units = priceBytes(body.length, rateLimit.unitsPerKiB);
    const go = () => proceed(releasing);
    return new EndingFlow(body.length <= largeBytes ? go() : chargeCall(recordAs("null"), units, go), letGo);
  };
}

/** Returns the id for the rejection of a message. A batch is not parsed just for this. */
function readId(body: Buffer, limits: MessageLimits): string {
  const read = isBatch(body) ? undefined : readMessage(body, limits);
  return (read?.kind === "single" ? read.call.id : undefined) ?? "null";
}

/** Parses a message over several event loop ticks, then continues with it in a later tick. */
export function readInTurns(
  body: Buffer,
  limits: MessageLimits,
  {
    turns,
    caller,
    proceed,
  }: Readonly<{ turns: SharedTurns; caller: string; proceed: (message: Message) => ResponseFlow }>,
): ResponseFlow {
  const reading = beginMessage(body, limits);
  const flow = new LateFlow();
  const step = () => {
    const message = reading.next();
    if (message !== undefined) turns.wait(caller, () => flow.begin(() => proceed(message)));
    return message === undefined ? turnBytes : 0;
  };
  createTurns(turns, caller).run(step, () => flow.isCancelled);
  return flow;
}
