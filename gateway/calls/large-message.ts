import type { Message, MessageLimits } from "../json-rpc/call.ts";
import { beginMessage, isBatch, readMessage } from "../json-rpc/read-message.ts";
import { rpcErrors } from "../errors.ts";
import { HeldScope } from "../memory/held-scope.ts";
import { type ResponseFlow, type ResponseSink, EndingFlow, EndingSink, LateFlow } from "../responses/response-sink.ts";
import { rejectCall, chargeCall } from "./answer-call.ts";
import type { CallContext, CallDependencies } from "./call-context.ts";
import { CallRecord } from "./call-record.ts";
import { type SharedTurns, createTurns, turnBytes } from "../wire/shared-turns.ts";
import { fallbackTier, type Caller } from "../callers/caller.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { Meter } from "../observe/meter.ts";
import type { PolicySource } from "../policy.ts";

/** Size at which a message is charged before it is parsed, and is parsed over several ticks. */
export const largeBytes = 65_536;

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

export type BodyAdmissionDependencies = Readonly<{
  policy: PolicySource;
  limiter: Pick<RateLimiter, "waitFor">;
  limited: Meter["limited"];
}>;

/** Decides from a request's head whether to accept its body. Does not charge: the body is charged once it is complete. */
export type BodyAdmission = Readonly<{
  /** Whether a body of this length is checked before it arrives. Shorter bodies are not worth checking. */
  isLarge: (lengthBytes: number) => boolean;
  /** Returns the seconds until the caller can pay for the body; undefined if the body is accepted now. */
  waitSeconds: (caller: Caller, lengthBytes: number) => number | undefined;
  /** Counts a rejection. */
  refused: (caller: Caller) => void;
}>;

/** Creates the body admission that all listeners share. */
export function admitBodies({ policy, limiter, limited }: BodyAdmissionDependencies): BodyAdmission {
  return {
    isLarge: (lengthBytes) => lengthBytes > largeBytes,
    waitSeconds: ({ key, tierName }, lengthBytes) => {
      const { settings, tiers } = policy();
      if (!settings.rateLimit.enabled) return undefined;
      const units = priceBytes(lengthBytes, settings.rateLimit.unitsPerKiB);
      const waitMs = limiter.waitFor(key, units, tiers.get(tierName) ?? fallbackTier);
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000));
    },
    refused: ({ tierName }) => limited("rate", tierName),
  };
}
