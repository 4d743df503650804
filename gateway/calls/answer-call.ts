import { knownParamsBytes } from "../reads/cache/cache-lifetime.ts";
import type { Method } from "../catalogue/method.ts";
import { isBad } from "../json-rpc/call.ts";
import { formatResultResponse, formatErrorResponse } from "../json-rpc/read-answer.ts";
import { rpcErrors, tooManyCalls, type RpcError, rateExceeded } from "../errors.ts";
import type { CallGate, LoadRejection } from "../limits/load-gate.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";
import { finishedFlow, type ResponseFlow, EndingFlow, LateFlow } from "../responses/response-sink.ts";
import type { CallRecord } from "./call-record.ts";
import type { NodeReads } from "../reads/node-reads.ts";
import { parseSplit } from "../reads/split-read.ts";
import type { LimitName } from "../observe/meter.ts";
import type { Policy } from "../policy.ts";
import type { RateDecision, RateLimiter } from "../limits/rate-limiter.ts";

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

/** Answers a call with data that the gateway already has. */
export function answerCall(record: CallRecord, text: string): ResponseFlow {
  record.text(text, "gateway");
  return finishedFlow;
}

/** Fails a call with an error; `limit` is the limit that the call would have exceeded, if any. */
export function failCall(record: CallRecord, error: RpcError, limit?: LimitName): ResponseFlow {
  if (limit !== undefined) record.dependencies.meter.limited(limit, record.context.caller.tierName);
  record.ended("refused");
  record.text(formatErrorResponse(record.id, error), "gateway");
  return finishedFlow;
}

/** Responds to a call without querying the node, because the node can't answer now. */
export function answerWithoutNode(record: CallRecord, error: RpcError): ResponseFlow {
  record.ended("failed");
  record.text(formatErrorResponse(record.id, error), "gateway");
  return finishedFlow;
}

/** Rejects a call that may be retried later. */
export function rejectCall(
  record: CallRecord,
  error: RpcError,
  seconds: number,
  limit: "rate" | "concurrency" | "overload" | "memory",
): ResponseFlow {
  record.dependencies.meter.limited(limit, record.context.caller.tierName);
  record.ended(limit === "overload" ? "overload" : "limited");
  record.text(formatErrorResponse(record.id, error), "gateway", seconds);
  return finishedFlow;
}

type Overload = PolicySettings["overload"];

/** Answers a checked call from the cache, or sends it to the node if a slot is free. `key` is the `buildCallKey` of method and parameters. */
export function readOne(record: CallRecord, params: string, key: string): ResponseFlow {
  const { call, context, dependencies, method } = record;
  const { reads } = dependencies;
  const { overload } = record.policy.settings;
  const unfit = explainUnfit(record);
  const cached = params.length > knownParamsBytes ? undefined : findCachedAnswer(reads, { method, key, unfit });
  if (cached !== undefined) {
    record.text(formatResultResponse(record.id, cached), "cache");
    return finishedFlow;
  }
  if (unfit !== undefined) return answerWithoutNode(record, unfit);
  const batch = isBatchable({ repeatable: method.repeatable, costUnits: record.costUnits }, overload)
    ? context.batch
    : undefined;
  const gate = batch?.gate ?? dependencies.gate;
  const refusal = record.enter(gate);
  if (refusal !== undefined) return waitOrRefuse(record, refusal, gate, () => readOne(record, params, key));
  record.params = params;
  // Checked parameters may be serialised differently.
  if (!isBad(call) && call.method === method.name && call.params === params) record.wire = call.wire;
  record.key = key;
  record.sender = batch?.sender;
  return reads.read(record);
}

/** Queues a call for one of its caller's in-flight slots, or rejects the call. */
function waitOrRefuse(
  record: CallRecord,
  refusal: LoadRejection,
  gate: CallGate,
  retry: () => ResponseFlow,
): ResponseFlow {
  const { caller, tier, policy } = record;
  const { overload } = policy.settings;
  const { retryAfterSeconds } = overload;
  if (refusal === "overload") return rejectCall(record, rpcErrors.overload, retryAfterSeconds, "overload");
  const refuse = () =>
    rejectCall(record, tooManyCalls(tier.concurrency, retryAfterSeconds), retryAfterSeconds, refusal);
  const goOn = () => {
    // Responses that arrived while the call waited may have put the caller into debt.
    const debtMs = record.dependencies.limiter.debtMs(caller, tier);
    return debtMs === undefined ? retry() : rejectRate(record, debtMs);
  };
  const flow = new LateFlow();
  const leaveQueue = gate.wait(caller, tier, overload, (mayEnter) => flow.begin(mayEnter ? goOn : refuse));
  return leaveQueue === undefined ? refuse() : new EndingFlow(flow, leaveQueue);
}

/**
 * Whether calls to a method are batched with similar calls on the way to the node: this applies to methods that are repeatable and not
 * heavy. A node may process a batch sequentially, so heavy calls would wait for each other.
 */
export function isBatchable(
  { repeatable, costUnits }: Pick<Method, "repeatable" | "costUnits">,
  { heavyCostUnits }: Overload,
): boolean {
  return repeatable && costUnits < heavyCostUnits;
}

/**
 * Returns the cached response. While the node is unfit, returns only a response that stays valid without the node, and none if the node may
 * be on another chain.
 */
function findCachedAnswer(
  reads: NodeReads,
  { method, key, unfit }: Readonly<{ method: Method; key: string; unfit: RpcError | undefined }>,
) {
  if (unfit === undefined) return reads.cached(method, key);
  return isOffChain(unfit) ? undefined : reads.lasting(method, key);
}

/** Returns the error that explains why the node must not be queried; undefined if the node is fit. */
export function explainUnfit({ dependencies, policy, method }: CallRecord): RpcError | undefined {
  const fitness = dependencies.nodeFitness();
  if (fitness === "fit") return undefined;
  if (fitness === "down") return rpcErrors.nodeUnavailable;
  if (fitness === "anotherChain" || fitness === "chainUnknown") return rpcErrors[fitness];
  return method.whileBehind === true || policy.settings.behind.reads === "serve" ? undefined : rpcErrors.nodeBehind;
}

/** Whether the node is not known to be on the expected chain; if so, nothing is answered on its behalf. */
export function isOffChain(unfit: RpcError | undefined): boolean {
  return unfit === rpcErrors.anotherChain || unfit === rpcErrors.chainUnknown;
}

/** Reads a range in pieces. Each piece is charged as a call, but the read takes only one in-flight slot. */
export function readInPieces(record: CallRecord, pieces: readonly string[]): ResponseFlow {
  const unfit = explainUnfit(record);
  if (unfit !== undefined) return answerWithoutNode(record, unfit);
  const { reads, gate } = record.dependencies;
  const { ranges, limits } = record.policy.settings;
  const refusal = record.enter(gate);
  if (refusal !== undefined) return waitOrRefuse(record, refusal, gate, () => readInPieces(record, pieces));
  const options = { pieces, parallel: ranges.splitParallel, limitBytes: limits.batchResponseBytes };
  return parseSplit(options, { read: record, reads }, (outcome) => {
    record.leave();
    record.ended(outcome);
  });
}
