import { formatErrorJsonResponse, formatResultResponse } from "../json-rpc/read-answer.ts";
import { buildCallKey, isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import { methodNotFound, paramsTooLarge, rpcErrors } from "../errors.ts";
import type { ParamLimit } from "../catalogue/method.ts";
import { mayNameGas } from "../limits/call-gas.ts";
import { checkParams } from "../limits/check-params.ts";
import { findLogsCap, findTraceCap } from "../policy.ts";
import { hashParts, rememberHash } from "../json-rpc/key-hash.ts";
import {
  isOffChain,
  readInPieces,
  readOne,
  explainUnfit,
  answerCall,
  failCall,
  answerWithoutNode,
  chargeCall,
} from "./answer-call.ts";
import { finishedFlow, type ResponseFlow, type ResponseSink } from "../responses/response-sink.ts";
import type { CallContext, SubscriptionResponse, CallDependencies } from "./call-context.ts";
import { CallRecord, noMethod } from "./call-record.ts";

/** Handles one call: checks the catalogue and limits, then tries constants, the cache and the node. An invalid call is also charged. Never throws. */
export type CallHandler = (call: Call | BadCall, context: CallContext, sink: ResponseSink) => ResponseFlow;

/** Creates the call handler used by all listeners. */
export function createCallHandler(dependencies: CallDependencies): CallHandler {
  return (call, context, sink) => {
    const record = new CallRecord(dependencies, call, context, sink);
    const kib = context.hasPaidBytes === true ? 0 : (call.kib ?? 0);
    return chargeCall(record, record.method.costUnits + kib * record.policy.settings.rateLimit.unitsPerKiB, admit);
  };
}

function admit(record: CallRecord): ResponseFlow {
  const { call, method } = record;
  if (isBad(call)) return failCall(record, call.error, call.limit);
  if (method === noMethod) return failCall(record, methodNotFound(call.method));
  const { subscriptions } = record.context;
  if (method.webSocketOnly === true && subscriptions === undefined) {
    return failCall(record, rpcErrors.notificationsNotSupported);
  }
  const params = call.params ?? "[]";
  if (params.charCodeAt(0) !== 0x5b) return failCall(record, rpcErrors.nonArrayParams);
  const paramsBytes = method.paramsBytes ?? record.policy.settings.limits.paramsBytes;
  if (params.length > paramsBytes) {
    return failCall(record, paramsTooLarge(method.name, params.length, paramsBytes), "message");
  }
  if (method.webSocketOnly === true && subscriptions !== undefined) {
    const unfit = explainUnfit(record);
    if (unfit !== undefined && isOffChain(unfit)) return answerWithoutNode(record, unfit);
    void answerSubscription(record, subscriptions.answer(method.name, params));
    return finishedFlow;
  }
  if (method.constant !== undefined) return answerCall(record, formatResultResponse(record.id, method.constant));
  if (method.answeredBy === "gateway") {
    return answerCall(
      record,
      formatResultResponse(record.id, record.dependencies.openRpc(record.policy, record.context.caller.listener)),
    );
  }
  if (method.limit !== undefined && isLimited(method.limit, params)) return readWithin(record, params);
  return readOne(record, params, call.key ?? buildKey(method.name, params, call.hash));
}

/** Whether a limit may apply to parameters: a plain call that specifies no gas has none. */
function isLimited(limit: ParamLimit, params: string): boolean {
  return limit.kind !== "gas" || limit.isRepeated === true || mayNameGas(params);
}

function buildKey(method: string, params: string, hash: number | undefined): string {
  const key = buildCallKey(method, params);
  if (hash === undefined) hashParts(key, method, params);
  else rememberHash(key, hash);
  return key;
}

/** Handles a read whose parameters have limits, in one or several pieces. */
function readWithin(record: CallRecord, params: string): ResponseFlow {
  const { policy, tier, dependencies, method } = record;
  const head = dependencies.head.known();
  const checked = dependencies.checks({ policy, head, tier, method }, params, () => {
    const splitBlocks = tier.splitBlocks ?? 0;
    return checkParams(method, params, head, {
      logs: () => ({ capBlocks: findLogsCap(policy, tier), splitBlocks }),
      trace: () => ({ capBlocks: findTraceCap(policy, tier), splitBlocks }),
      ...policy.settings.limits,
    });
  });
  switch (checked.kind) {
    case "refuse":
      return failCall(record, checked.error, checked.limit);
    case "split":
      return chargeCall(record, method.costUnits * (checked.pieces.length - 1), () =>
        readInPieces(record, checked.pieces),
      );
    case "pass": {
      const { params: passed, key, gas = 0 } = checked;
      const moreUnits = Math.ceil(gas / policy.settings.rateLimit.gasPerUnit) - method.costUnits;
      if (moreUnits <= 0) return readOne(record, passed, key);
      record.costUnits += moreUnits;
      return chargeCall(record, moreUnits, () => readOne(record, passed, key));
    }
  }
}

async function answerSubscription(record: CallRecord, pending: Promise<SubscriptionResponse>): Promise<void> {
  const answer = await pending;
  if (answer.kind === "error") failCall(record, answer.error);
  else if (answer.kind === "result") answerCall(record, formatResultResponse(record.id, answer.json));
  else answerCall(record, formatErrorJsonResponse(record.id, answer.json));
}
