import { goneTier } from "../callers/caller.ts";
import type { Message } from "../envelope/call.ts";
import type { MessageLimits } from "../envelope/message-limits.ts";
import { beginMessage } from "../envelope/read-message.ts";
import { rpcErrors } from "../envelope/rpc-error.ts";
import type { AnswerFlow, AnswerSink } from "./answer-sink.ts";
import type { CallContext, CallDependencies } from "./call-work.ts";
import { charged } from "./charge.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { makeTurns, turnBytes } from "./turns.ts";

/** Size from which a message is charged before it is read, and read in turns. */
export const largeBytes = 65_536;

const bytesOfKiB = 1_024;

/** Charges the bytes of a message before any of it is looked at; whoever can't pay them is refused with the id null. */
export type MessageCharge = (
  body: Buffer,
  from: Readonly<{ context: CallContext; sink: AnswerSink }>,
  proceed: () => AnswerFlow,
) => AnswerFlow;

/** Makes the charge of large messages. */
export function makeMessageCharge(dependencies: CallDependencies): MessageCharge {
  return (body, { context, sink }, proceed) => {
    const policy = dependencies.policy();
    const tier = policy.tiers.get(context.caller.tierName) ?? goneTier;
    const call = { id: "null", error: rpcErrors.invalidRequest };
    const work = { dependencies, policy, tier, call, id: call.id, method: undefined, context, sink };
    const { unitsPerKiB } = policy.settings.rateLimit;
    return charged(work, Math.floor(body.length / bytesOfKiB) * unitsPerKiB, proceed);
  };
}

/** Reads a message in turns of the event loop, and goes on with it in another one. */
export function readInTurns(
  body: Buffer,
  limits: MessageLimits,
  {
    turns,
    caller,
    proceed,
  }: Readonly<{ turns: SharedTurns; caller: string; proceed: (message: Message) => AnswerFlow }>,
): AnswerFlow {
  const reading = beginMessage(body, limits);
  let flow: AnswerFlow | undefined;
  let isCancelled = false;
  const goOn = (message: Message) => {
    if (!isCancelled) flow = proceed(message);
  };
  const step = () => {
    const message = reading.next();
    if (message !== undefined) turns.wait(caller, () => goOn(message));
    return message === undefined ? turnBytes : 0;
  };
  makeTurns(turns, caller).run(step, () => isCancelled);
  return {
    resume: () => flow?.resume(),
    cancel: () => {
      isCancelled = true;
      flow?.cancel();
    },
  };
}
