import { errorText } from "../json-rpc/answer-text.ts";
import type { RpcError } from "../errors.ts";
import type { CallOutcome, LimitName } from "../observe/meter.ts";
import { finishedFlow, type AnswerFlow } from "../answers/answer-sink.ts";
import type { Work } from "./call-work.ts";

/** The method as metrics name it. A name that only the client knows is never a label, or clients would make series. */
export function labelOf({ policy, method }: Work): string {
  if (method === undefined) return "unknown";
  return policy.catalogue.has(method.name) ? method.name : "unlisted";
}

/** Counts, times and traces a call that ended, now unless it is told when. */
export function ended(work: Work, outcome: CallOutcome, endedAt: number = work.dependencies.now()): void {
  const { dependencies, context } = work;
  const call = {
    method: labelOf(work),
    tier: context.caller.tierName,
    outcome,
    seconds: (endedAt - context.startedAt) / 1_000,
    requestId: context.requestId,
  };
  dependencies.meter.call(call);
  context.trace?.end(call);
}

/** Answers with what the gateway knows by itself. */
export function answered(work: Work, text: string): AnswerFlow {
  ended(work, "gateway");
  work.sink.text(text, "gateway");
  return finishedFlow;
}

/** Refuses a call with an error; `limit` names the limit that it would have broken. */
export function failed(work: Work, error: RpcError, limit?: LimitName): AnswerFlow {
  if (limit !== undefined) work.dependencies.meter.limited(limit, work.context.caller.tierName);
  ended(work, "refused");
  work.sink.text(errorText(work.id, error), "gateway");
  return finishedFlow;
}

/** Answers for a node that is not asked, because it could not answer now. */
export function unanswered(work: Work, error: RpcError): AnswerFlow {
  ended(work, "failed");
  work.sink.text(errorText(work.id, error), "gateway");
  return finishedFlow;
}

/** Refuses a call that may come again later. */
export function limited(
  work: Work,
  error: RpcError,
  seconds: number,
  limit: "rate" | "concurrency" | "overload" | "memory",
): AnswerFlow {
  work.dependencies.meter.limited(limit, work.context.caller.tierName);
  ended(work, limit === "overload" ? "overload" : "limited");
  work.sink.refused(errorText(work.id, error), seconds);
  return finishedFlow;
}
