import type { Method } from "../catalogue/method.ts";
import { fallbackTier } from "../callers/caller.ts";
import { methodFor } from "../callers/method-for-caller.ts";
import { errorJsonText, resultText } from "../json-rpc/answer-text.ts";
import { callKey, isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import { methodNotFound, paramsTooLarge, rpcErrors } from "../errors.ts";
import { checkParams } from "../limits/check-params.ts";
import { logsCap, traceCap } from "../policy/policy.ts";
import { readInPieces, readOne, whyUnfit } from "./admitted-read.ts";
import { finishedFlow, type AnswerFlow, type AnswerSink } from "../answers/answer-sink.ts";
import { answered, failed, unanswered } from "./call-end.ts";
import type { CallContext, CallDependencies, Work } from "./call-work.ts";
import { charged } from "./charge.ts";
import { chargedSink } from "./charged-sink.ts";
import type { SubscriptionAnswer } from "./subscriptions.ts";

/** Answers one call: the catalogue, then limits, then constants, cache and node. What is no call is charged, too. Never throws. */
export type CallHandler = (call: Call | BadCall, context: CallContext, sink: AnswerSink) => AnswerFlow;

/** Creates the handler of all listeners' calls. */
export function createCallHandler(dependencies: CallDependencies): CallHandler {
  return (call, context, sink) => {
    const policy = dependencies.policy();
    const tier = policy.tiers.get(context.caller.tierName) ?? fallbackTier;
    const method = isBad(call) ? undefined : methodFor(policy, tier, call.method, context.caller);
    const own = chargedSink(sink, { dependencies, policy, tier, context });
    const work = { dependencies, policy, tier, call, id: call.id ?? "null", method, context, sink: own };
    const kib = context.hasPaidBytes === true ? 0 : (call.kib ?? 0);
    return charged(work, (method?.costUnits ?? 1) + kib * policy.settings.rateLimit.unitsPerKiB, admit);
  };
}

function admit(work: Work): AnswerFlow {
  const { call, method } = work;
  if (isBad(call)) return failed(work, call.error, call.limit);
  if (method === undefined) return failed(work, methodNotFound(call.method));
  const { subscriptions } = work.context;
  if (method.webSocketOnly === true && subscriptions === undefined) {
    return failed(work, rpcErrors.notificationsNotSupported);
  }
  const params = call.params ?? "[]";
  if (params.charCodeAt(0) !== 0x5b) return failed(work, rpcErrors.nonArrayParams);
  const paramsBytes = method.paramsBytes ?? work.policy.settings.limits.paramsBytes;
  if (params.length > paramsBytes) {
    return failed(work, paramsTooLarge(method.name, params.length, paramsBytes), "message");
  }
  if (method.webSocketOnly === true && subscriptions !== undefined) {
    if (whyUnfit(work, method) === rpcErrors.anotherChain) return unanswered(work, rpcErrors.anotherChain);
    void answerSubscription(work, subscriptions.answer(method.name, params));
    return finishedFlow;
  }
  if (method.constant !== undefined) return answered(work, resultText(work.id, method.constant));
  if (method.answeredBy === "gateway") {
    return answered(work, resultText(work.id, work.dependencies.openRpc(work.policy, work.context.caller.listener)));
  }
  if (method.limit !== undefined) return readWithin(work, method, params);
  return readOne(work, method, params, call.key ?? callKey(method.name, params));
}

/** Reads what the limits on a method's parameters let pass. */
function readWithin(work: Work, method: Method, params: string): AnswerFlow {
  const { policy, tier, dependencies } = work;
  const head = dependencies.head.known();
  const checked = dependencies.checks({ policy, head, tier, method }, params, () => {
    const { errorCode } = policy.settings.ranges;
    const splitBlocks = tier.splitBlocks ?? 0;
    return checkParams(method, params, head, {
      logs: () => ({ capBlocks: logsCap(policy, tier), splitBlocks, errorCode }),
      trace: () => ({ capBlocks: traceCap(policy, tier), splitBlocks, errorCode }),
      traceCallOverrides: policy.settings.limits.traceCallOverrides,
    });
  });
  switch (checked.kind) {
    case "refuse":
      return failed(work, checked.error, checked.limit);
    case "split":
      return charged(work, method.costUnits * (checked.pieces.length - 1), () =>
        readInPieces(work, method, checked.pieces),
      );
    case "pass":
      return readOne(work, method, checked.params, checked.key);
  }
}

async function answerSubscription(work: Work, pending: Promise<SubscriptionAnswer>): Promise<void> {
  const answer = await pending;
  if (answer.kind === "error") failed(work, answer.error);
  else if (answer.kind === "result") answered(work, resultText(work.id, answer.json));
  else answered(work, errorJsonText(work.id, answer.json));
}
