import { formatNodeResponse, formatResultResponse } from "../json-rpc/read-answer.ts";
import { buildCallKey, hashKey, hashParts, isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import { methodNotFound, paramsTooLarge, rpcErrors, tooManyCalls, type RpcError } from "../errors.ts";
import type { CallGate, LoadRejection } from "../limits/load-gate.ts";
import type { RateDecision } from "../limits/rate-limiter.ts";
import type { CallTrace } from "../observe/otlp-tracing.ts";
import { isBatchable, isLimited } from "../policy.ts";
import { knownParamsBytes } from "../reads/node-reads.ts";
import { parseSplit } from "../reads/split-read.ts";
import {
  EndingFlow,
  finishedFlow,
  LateFlow,
  type ResponseFlow,
  type ResponseSink,
} from "../responses/response-sink.ts";
import { unavailableMethod, type CallAccounting } from "./call-accounting.ts";
import type { SubscriptionResponse } from "./call-context.ts";
import { CallRecord } from "./call-record.ts";

/** Handles one call: checks the catalogue and limits, then tries constants, the cache and the node. An invalid call is also charged. Never throws. */
export function handleCall(
  account: CallAccounting,
  call: Call | BadCall,
  client: ResponseSink,
  trace?: CallTrace,
): ResponseFlow {
  const record = new CallRecord(account, call, client, trace);
  return chargeCall(record, record.method.costUnits + account.priceBytes(call.kib ?? 0), admit);
}

/** Continues with a call if its caller's rate limit allows the extra units; otherwise rejects it. */
export function chargeCall(
  record: CallRecord,
  costUnits: number,
  runCall: (record: CallRecord) => ResponseFlow,
): ResponseFlow {
  const decision = record.account.charge(costUnits);
  if (decision === undefined) return runCall(record);
  if (typeof decision === "number") return record.rejectRate(decision);
  const flow = new LateFlow();
  const applyDecision = (waitMs: RateDecision) =>
    flow.begin(() => (waitMs === undefined ? runCall(record) : record.rejectRate(waitMs)));
  decision.then(applyDecision, () => applyDecision(undefined));
  return flow;
}

function admit(record: CallRecord): ResponseFlow {
  const { call, method, account } = record;
  if (isBad(call)) return record.reject(call.error, call.limit);
  if (method === unavailableMethod) return record.reject(methodNotFound(call.method));
  const { subscriptions, caller } = account.message;
  if (method.webSocketOnly === true && subscriptions === undefined) {
    return record.reject(rpcErrors.notificationsNotSupported);
  }
  const params = call.params ?? "[]";
  if (params.charCodeAt(0) !== 0x5b) return record.reject(rpcErrors.nonArrayParams);
  const paramsBytes = method.paramsBytes ?? account.policy.settings.limits.paramsBytes;
  if (params.length > paramsBytes) {
    return record.reject(paramsTooLarge(method.name, params.length, paramsBytes), "message");
  }
  if (method.webSocketOnly === true && subscriptions !== undefined) {
    const unfit = explainUnfit(record);
    if (unfit !== undefined && isOffChain(unfit)) return record.respondWithoutNode(unfit);
    void respondToSubscription(record, subscriptions.respond(method.name, params));
    return finishedFlow;
  }
  if (method.constant !== undefined) return record.respond(formatResultResponse(record.id, method.constant));
  if (method.answeredBy === "gateway") {
    return record.respond(formatResultResponse(record.id, account.policy.openRpc(caller.listener)));
  }
  record.wire = call.wire;
  if (isLimited(method, params)) return runWithinLimits(record, params);
  const { key = buildCallKey(method.name, params), hash = hashParts(method.name, params) } = call;
  return readOne(record, params, key, hash);
}

async function respondToSubscription(record: CallRecord, pending: Promise<SubscriptionResponse>): Promise<void> {
  const response = await pending;
  if (response.kind === "rejected") record.reject(response.error);
  else record.respond(formatNodeResponse(record.id, response));
}

/** Handles a read whose parameters have limits, in one or several pieces. */
function runWithinLimits(record: CallRecord, params: string): ResponseFlow {
  const { account, method } = record;
  const { policy, tier, context } = account;
  const checkedParams = context.checks({ policy, head: context.head.known(), tier, method }, params);
  switch (checkedParams.kind) {
    case "reject":
      return record.reject(checkedParams.error, checkedParams.limit);
    case "split": {
      const { pieces } = checkedParams;
      return chargeCall(record, method.costUnits * (pieces.length - 1), () => readInPieces(record, pieces));
    }
    case "pass": {
      const { params: checkedText, key, gas = 0 } = checkedParams;
      // The call can't be forwarded as the client wrote it if the check changed its parameters.
      if (checkedText !== params) record.wire = undefined;
      const moreUnits = Math.ceil(gas / policy.settings.rateLimit.gasPerUnit) - method.costUnits;
      if (moreUnits <= 0) return readOne(record, checkedText, key);
      record.costUnits += moreUnits;
      return chargeCall(record, moreUnits, () => readOne(record, checkedText, key));
    }
  }
}

/** Answers a checked call from the cache, or sends it to the node if a slot is free. `key` is the `buildCallKey` of method and parameters. */
function readOne(record: CallRecord, params: string, key: string, hash = hashKey(key)): ResponseFlow {
  record.params = params;
  record.key = key;
  record.hash = hash;
  return findOrRequest(record);
}

function findOrRequest(record: CallRecord): ResponseFlow {
  const { account, method, params } = record;
  const { reads, gate: ownGate } = account.context;
  const unfit = explainUnfit(record);
  const cachedResponse = params.length > knownParamsBytes ? undefined : findCachedResponse(record, unfit);
  if (cachedResponse !== undefined) {
    record.text(formatResultResponse(record.id, cachedResponse), "cache");
    return finishedFlow;
  }
  if (unfit !== undefined) return record.respondWithoutNode(unfit);
  const batch = isBatchable(account.policy, method, record.costUnits) ? account.batch : undefined;
  const gate = batch?.gate ?? ownGate;
  const rejection = record.enter(gate);
  if (rejection !== undefined) return waitOrReject(record, rejection, gate, () => findOrRequest(record));
  record.sender = batch?.sender;
  return reads.read(record);
}

/** Reads a range in pieces. Each piece is charged as a call, but the read takes only one in-flight slot. */
function readInPieces(record: CallRecord, pieces: readonly string[]): ResponseFlow {
  const unfit = explainUnfit(record);
  if (unfit !== undefined) return record.respondWithoutNode(unfit);
  const { reads, gate } = record.account.context;
  const { ranges, limits } = record.account.policy.settings;
  const rejection = record.enter(gate);
  if (rejection !== undefined) return waitOrReject(record, rejection, gate, () => readInPieces(record, pieces));
  const options = { pieces, parallel: ranges.splitParallel, limitBytes: limits.batchResponseBytes };
  return parseSplit(options, { read: record, reads }, (outcome) => {
    record.leave();
    record.ended(outcome);
  });
}

/** Queues a call until it may enter, or rejects it. */
function waitOrReject(
  record: CallRecord,
  rejection: LoadRejection,
  gate: CallGate,
  retry: () => ResponseFlow,
): ResponseFlow {
  const { account } = record;
  const { key, tier, policy, context } = account;
  const { overload } = policy.settings;
  const { retryAfterSeconds: seconds, waitMs } = overload;
  const reject = () =>
    rejection === "concurrency"
      ? record.rejectTemporarily(tooManyCalls(tier.concurrency, seconds), seconds, rejection)
      : record.rejectTemporarily(rpcErrors.overload, seconds, "overload");
  if (rejection === "overload" || (account.hasGivenUp && !gate.isWaitingForOwn)) return reject();
  const runCall = () => {
    // Responses that arrived while the call waited may have put the caller into debt.
    const debtMs = context.limiter.debtMs(key, tier);
    return debtMs === undefined ? retry() : record.rejectRate(debtMs);
  };
  const now = context.now();
  if (rejection === "concurrency") record.queuedAt = now;
  // A heavy call that has waited for its caller's other calls waits for other callers' heavy calls only in the remaining time.
  const remainingMs = waitMs - (now - (record.queuedAt ?? now));
  const flow = new LateFlow();
  const request = { reason: rejection, caller: key, tier, overload, waitMs: remainingMs };
  const leaveQueue = gate.wait(request, (mayEnter) => {
    account.hasGivenUp ||= !mayEnter;
    flow.begin(mayEnter ? runCall : reject);
  });
  return leaveQueue === undefined ? reject() : new EndingFlow(flow, leaveQueue);
}

/**
 * Returns the cached response. While the node is unhealthy, returns only a response that stays valid without the node, and none if the node
 * may be on another chain.
 */
function findCachedResponse({ account, method, key, hash }: CallRecord, unfit: RpcError | undefined) {
  const { reads } = account.context;
  if (unfit === undefined) return reads.cached(method, key, hash);
  return isOffChain(unfit) ? undefined : reads.cachedForever(method, key, hash);
}

/** Returns the error that explains why the node must not be queried; undefined if the node is healthy. */
function explainUnfit({ account, method }: CallRecord): RpcError | undefined {
  const fitness = account.context.fitness.current;
  if (fitness === "fit") return undefined;
  if (fitness === "down") return rpcErrors.nodeUnavailable;
  if (fitness === "anotherChain" || fitness === "chainUnknown") return rpcErrors[fitness];
  const mayServe = method.whileBehind === true || account.policy.settings.behind.reads === "serve";
  return mayServe ? undefined : rpcErrors.nodeBehind;
}

/** Whether the node may be on another chain; if so, no call is answered on its behalf. */
function isOffChain(unfit: RpcError): boolean {
  return unfit === rpcErrors.anotherChain || unfit === rpcErrors.chainUnknown;
}
