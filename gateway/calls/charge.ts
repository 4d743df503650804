import type { RateDecision } from "../limits/rate-limiter.ts";
import type { AnswerFlow } from "../answers/answer-sink.ts";
import { rateExceeded } from "../errors.ts";
import { refuseCall } from "./call-end.ts";
import type { CallRecord } from "./call-record.ts";
import { LateFlow } from "./late-flow.ts";

/** Continues with a call if its caller's rate allows so many units more; refuses it otherwise. */
export function chargeCall(
  record: CallRecord,
  costUnits: number,
  proceed: (record: CallRecord) => AnswerFlow,
): AnswerFlow {
  if (!record.policy.settings.rateLimit.enabled) return proceed(record);
  const decision = record.dependencies.limiter.acquire(record.caller, costUnits, record.tier);
  if (decision === undefined) return proceed(record);
  if (typeof decision === "number") return refuseRate(record, decision);
  return waitForDecision(decision, (waitMs) => (waitMs === undefined ? proceed(record) : refuseRate(record, waitMs)));
}

function refuseRate(record: CallRecord, waitMs: number): AnswerFlow {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return refuseCall(record, rateExceeded(seconds), seconds, "rate");
}

function waitForDecision(decision: Promise<RateDecision>, decided: (waitMs: RateDecision) => AnswerFlow): AnswerFlow {
  const flow = new LateFlow();
  const goOn = (waitMs: RateDecision) => flow.begin(() => decided(waitMs));
  decision.then(goOn, () => goOn(undefined));
  return flow;
}
