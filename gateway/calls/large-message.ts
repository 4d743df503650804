import type { Message, MessageLimits } from "../json-rpc/call.ts";
import { beginMessage, isBatch, readMessage } from "../json-rpc/read-message.ts";
import { rpcErrors } from "../errors.ts";
import { ResponseMemory } from "../memory/response-memory.ts";
import { type ResponseFlow, type ResponseSink, EndingFlow, EndingSink, LateFlow } from "../responses/response-sink.ts";
import type { CallAccount } from "./call-account.ts";
import { chargeCall } from "./call-handler.ts";
import { CallRecord } from "./call-record.ts";
import { type SharedTurns, createTurns, turnBytes } from "../wire/shared-turns.ts";
import type { Caller } from "../callers/caller.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { Meter } from "../observe/meter.ts";
import { findTier, type PolicySource } from "../policy.ts";

const bytesOfKiB = 1_024;

/** Computes the cost of a message's bytes, in compute units. */
function priceBytes(lengthBytes: number, unitsPerKiB: number): number {
  return Math.floor(lengthBytes / bytesOfKiB) * unitsPerKiB;
}

/**
 * Counts a message that is not small in its connection's memory until it is answered, and charges the bytes of a large one before it is
 * parsed. Callers that can't pay are rejected with id null. `proceed` responds to the sink that it receives.
 */
export function chargeMessage(
  account: CallAccount,
  body: Buffer,
  sink: ResponseSink,
  proceed: (sink: ResponseSink) => ResponseFlow,
): ResponseFlow {
  const held = new ResponseMemory(account.message.memory);
  const letGo = () => held[Symbol.dispose]();
  const releasing = new EndingSink(sink, letGo);
  const recordAs = (id: string) => new CallRecord(account, { id, error: rpcErrors.invalidRequest }, releasing);
  const { limits, rateLimit } = account.policy.settings;
  if (!held.tryAcquire(body.length)) return recordAs(readId(body, limits)).reject(rpcErrors.tooMuchHeld, 1, "memory");
  const go = () => proceed(releasing);
  const units = priceBytes(body.length, rateLimit.unitsPerKiB);
  return new EndingFlow(account.hasPaidBytes ? chargeCall(recordAs("null"), units, go) : go(), letGo);
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
  meter: Pick<Meter, "limited">;
}>;

/** Decides from a request's head whether to accept its body. Does not charge: the body is charged once it is complete. */
export type BodyAdmission = Readonly<{
  /** Returns the seconds until the caller can pay for the body; undefined if the body is accepted now. */
  waitSeconds: (caller: Caller, lengthBytes: number) => number | undefined;
  /** Counts a rejection. */
  refused: (caller: Caller) => void;
}>;

/** Creates the body admission that all listeners share. */
export function admitBodies({ policy, limiter, meter }: BodyAdmissionDependencies): BodyAdmission {
  return {
    waitSeconds: (caller, lengthBytes) => {
      const current = policy();
      const { enabled, unitsPerKiB } = current.settings.rateLimit;
      if (!enabled) return undefined;
      const waitMs = limiter.waitFor(caller.key, priceBytes(lengthBytes, unitsPerKiB), findTier(current, caller));
      return waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1_000));
    },
    refused: ({ tierName }) => meter.limited("rate", tierName),
  };
}
