import type { RateDecision } from "../limits/rate-limiter.ts";
import type { AnswerFlow } from "../answers/answer-sink.ts";
import { rateExceeded } from "../errors.ts";
import { limited } from "./call-end.ts";
import type { Work } from "./call-work.ts";
import { LateFlow } from "./late-flow.ts";

/** Goes on with a call when its caller's rate allows so many units more. */
export function charged(work: Work, costUnits: number, proceed: (work: Work) => AnswerFlow): AnswerFlow {
  if (!work.policy.settings.rateLimit.enabled) return proceed(work);
  const decision = work.dependencies.limiter.take(work.context.caller.key, costUnits, work.tier);
  if (decision === undefined) return proceed(work);
  if (typeof decision === "number") return refused(work, decision);
  return later(decision, (waitMs) => (waitMs === undefined ? proceed(work) : refused(work, waitMs)));
}

function refused(work: Work, waitMs: number): AnswerFlow {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return limited(work, rateExceeded(seconds), seconds, "rate");
}

function later(decision: Promise<RateDecision>, decided: (waitMs: RateDecision) => AnswerFlow): AnswerFlow {
  const flow = new LateFlow();
  const goOn = (waitMs: RateDecision) => flow.begin(() => decided(waitMs));
  decision.then(goOn, () => goOn(undefined));
  return flow;
}
