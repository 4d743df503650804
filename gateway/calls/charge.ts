import type { Policy } from "../policy.ts";
import type { Tier } from "../settings/policy.ts";
import type { RateDecision, RateLimiter } from "../limits/rate-limiter.ts";
import type { ResponseFlow } from "../answers/answer-sink.ts";
import { rateExceeded } from "../errors.ts";
import { rejectCall, LateFlow } from "./call-end.ts";
import type { CallRecord } from "./call-record.ts";

/** Min length of a response that may cost more than its call. */
export const leastOwedBytes = 1_024;

/** Continues with a call if its caller's rate limit allows the extra units; otherwise rejects it. */
export function chargeCall(
  record: CallRecord,
  costUnits: number,
  proceed: (record: CallRecord) => ResponseFlow,
): ResponseFlow {
  if (!record.policy.settings.rateLimit.enabled) return proceed(record);
  const decision = record.dependencies.limiter.acquire(record.caller, costUnits, record.tier);
  if (decision === undefined) return proceed(record);
  if (typeof decision === "number") return rejectRate(record, decision);
  return waitForDecision(decision, (waitMs) => (waitMs === undefined ? proceed(record) : rejectRate(record, waitMs)));
}

/** Charges a caller for a complete response, beyond the free bytes of each response, according to the policy and tier that the call started with. */
export function chargeResponse(
  limiter: RateLimiter,
  bytes: number,
  caller: string,
  { policy, tier }: Readonly<{ policy: Policy; tier: Tier }>,
): void {
  const { enabled, unitsPerAnswerKiB, freeAnswerKiB } = policy.settings.rateLimit;
  const dueKiB = Math.floor(bytes / leastOwedBytes) - freeAnswerKiB;
  if (enabled && unitsPerAnswerKiB > 0 && dueKiB > 0) limiter.owe(caller, dueKiB * unitsPerAnswerKiB, tier);
}

/** Rejects a call whose caller must wait for this long. */
export function rejectRate(record: CallRecord, waitMs: number): ResponseFlow {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return rejectCall(record, rateExceeded(seconds), seconds, "rate");
}

function waitForDecision(
  decision: Promise<RateDecision>,
  decided: (waitMs: RateDecision) => ResponseFlow,
): ResponseFlow {
  const flow = new LateFlow();
  const goOn = (waitMs: RateDecision) => flow.begin(() => decided(waitMs));
  decision.then(goOn, () => goOn(undefined));
  return flow;
}
