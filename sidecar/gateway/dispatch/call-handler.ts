import type { Method } from "../catalogue/method.ts";
import { goneTier, type Caller, type ListenerName } from "../callers/caller.ts";
import { methodFor } from "../callers/method-for-caller.ts";
import type { Head } from "../cache/head.ts";
import { errorText, resultText } from "../envelope/answer-text.ts";
import { isBad, type BadCall, type Call } from "../envelope/call.ts";
import { limitExceeded, methodNotFound, rpcErrors, type RpcError } from "../envelope/rpc-error.ts";
import { checkParams } from "../limits/check-params.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { RateDecision, RateLimiter } from "../limits/rate-limiter.ts";
import type { CallOutcome, LimitName, Meter } from "../observe/meter.ts";
import { logsCap, traceCap, type Policy, type PolicySource } from "../policy/policy.ts";
import type { Tier } from "../policy/settings.ts";
import { finishedFlow, type AnswerFlow, type AnswerSink } from "./answer-sink.ts";
import type { NodeReads } from "./node-reads.ts";
import type { NodeOutcome } from "./pass-through.ts";
import { readSplit } from "./split-read.ts";
import type { SubscriptionAnswer, Subscriptions } from "./subscriptions.ts";

/** What answering a call takes. */
export type CallDependencies = Readonly<{
  policy: PolicySource;
  limiter: RateLimiter;
  gate: LoadGate;
  head: Head;
  reads: NodeReads;
  meter: Meter;
  /** JSON text of the OpenRPC document for a listener. */
  openRpc: (policy: Policy, listener: ListenerName) => string;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
}>;

/** One call on its way: who makes it, when it came, and what passes on with it. */
export type CallContext = Readonly<{
  caller: Caller;
  startedAt: number;
  traceparent: string | undefined;
  requestId?: string | undefined;
  /** Subscriptions of the caller's WebSocket; over HTTP there are none. */
  subscriptions?: Subscriptions | undefined;
}>;

/** Answers one call: the catalogue, then limits, then constants, cache and node. What is no call is charged, too. Never throws. */
export type CallHandler = (call: Call | BadCall, context: CallContext, sink: AnswerSink) => AnswerFlow;

/** Makes the handler of all listeners' calls. */
export function makeCallHandler(dependencies: CallDependencies): CallHandler {
  return (call, context, sink) => {
    const policy = dependencies.policy();
    const tier = policy.tiers.get(context.caller.tierName) ?? goneTier;
    const asking = { ...dependencies, context, sink, rules: policy, tier, id: call.id ?? "null" };
    if (isBad(call)) {
      const work = { ...asking, method: undefined };
      return charged(work, 1, () =>
        failed(work, call.error, call.error === rpcErrors.batchTooLarge ? "batch" : undefined),
      );
    }
    const method = methodFor(policy, tier, call.method, context.caller);
    const work: Work = { ...asking, call, method };
    return charged(work, method?.costUnits ?? 1, () => admit(work));
  };
}

type Asking = CallDependencies &
  Readonly<{
    id: string;
    context: CallContext;
    sink: AnswerSink;
    rules: Policy;
    tier: Tier;
    method: Method | undefined;
  }>;

type Work = Asking & Readonly<{ call: Call }>;

/** Goes on when the caller's rate allows so many units more. */
function charged(work: Asking, costUnits: number, proceed: () => AnswerFlow): AnswerFlow {
  const decided = (waitMs: RateDecision) => {
    if (waitMs === undefined) return proceed();
    const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
    return limited(work, `rate limit exceeded; try again in ${seconds} s`, seconds, "rate");
  };
  if (!work.rules.settings.rateLimit.enabled) return proceed();
  const decision = work.limiter.take(work.context.caller.key, costUnits, work.tier);
  return decision instanceof Promise ? later(decision, decided) : decided(decision);
}

function later(decision: Promise<RateDecision>, decided: (waitMs: RateDecision) => AnswerFlow): AnswerFlow {
  let flow: AnswerFlow | undefined;
  let cancelled = false;
  const goOn = (waitMs: RateDecision) => {
    if (!cancelled) flow = decided(waitMs);
  };
  decision.then(goOn, () => goOn(undefined));
  return {
    resume: () => flow?.resume(),
    cancel: () => {
      cancelled = true;
      flow?.cancel();
    },
  };
}

function admit(work: Work): AnswerFlow {
  const { call, method, id } = work;
  if (method === undefined) return failed(work, methodNotFound(call.method));
  const { subscriptions } = work.context;
  if (method.webSocketOnly === true && subscriptions === undefined) {
    return failed(work, rpcErrors.notificationsNotSupported);
  }
  if (call.params !== undefined && call.params.charCodeAt(0) !== 0x5b) return failed(work, rpcErrors.nonArrayParams);
  if (method.webSocketOnly === true && subscriptions !== undefined) return subscribing(work, method, subscriptions);
  if (method.constant !== undefined) return answered(work, resultText(id, method.constant));
  if (method.answeredBy === "gateway") {
    return answered(work, resultText(id, work.openRpc(work.rules, work.context.caller.listener)));
  }
  const { errorCode } = work.rules.settings.ranges;
  const splitBlocks = work.tier.splitBlocks ?? 0;
  const checked = checkParams(method, call.params ?? "[]", work.head.known(), {
    logs: () => ({ capBlocks: logsCap(work.rules, work.tier), splitBlocks, errorCode }),
    trace: () => ({ capBlocks: traceCap(work.rules, work.tier), splitBlocks, errorCode }),
  });
  switch (checked.kind) {
    case "refuse":
      return failed(work, checked.error, checked.limit);
    case "split":
      return charged(work, method.costUnits * (checked.pieces.length - 1), () =>
        splitRead(work, method, checked.pieces),
      );
    case "pass":
      return readOne(work, method, checked.params);
  }
}

function readOne(work: Work, method: Method, params: string): AnswerFlow {
  const { id, sink, reads, context } = work;
  const cached = reads.cached(method.name, params);
  if (cached !== undefined) {
    ended(work, "cache");
    sink.text(resultText(id, cached), "cache");
    return finishedFlow;
  }
  const { overload } = work.rules.settings;
  const { key } = context.caller;
  const refusal = work.gate.enter(key, work.tier, method.costUnits, overload);
  if (refusal === "concurrency") {
    return limited(work, `more than ${work.tier.concurrency} calls at a time; try again later`, 1, "concurrency");
  }
  if (refusal === "overload") {
    return limited(work, "too much load; try again later", overload.retryAfterSeconds, "overload");
  }
  let isDone = false;
  const askedAt = work.now();
  const done = (outcome: NodeOutcome) => {
    if (isDone) return;
    isDone = true;
    work.gate.leave(key, method.costUnits, overload);
    // A reader that shared another's call has no time of the node's own, and one that went leaves it unknown.
    if (outcome !== "coalesced" && outcome !== "cancelled") {
      work.meter.node(labelOf(work), (work.now() - askedAt) / 1_000);
    }
    ended(work, callOutcome(outcome));
  };
  return reads.read({ method, params, traceparent: context.traceparent }, { id, sink, done });
}

function callOutcome(outcome: NodeOutcome): CallOutcome {
  if (outcome === "answered") return "node";
  return outcome === "coalesced" || outcome === "cancelled" ? outcome : "failed";
}

function subscribing(work: Work, method: Method, subscriptions: Subscriptions): AnswerFlow {
  void tellSubscription(work, subscriptions.answer(method.name, work.call.params ?? "[]"));
  return finishedFlow;
}

async function tellSubscription(work: Work, pending: Promise<SubscriptionAnswer>): Promise<void> {
  const answer = await pending;
  if (answer.kind === "error") failed(work, answer.error);
  else if (answer.kind === "result") answered(work, resultText(work.id, answer.json));
  else answered(work, `{"jsonrpc":"2.0","id":${work.id},"error":${answer.json}}`);
}

/** A range in pieces, which is charged as that many calls, takes one place among those under way. */
function splitRead(work: Work, method: Method, pieces: readonly string[]): AnswerFlow {
  const { key } = work.context.caller;
  const { overload, ranges, limits } = work.rules.settings;
  const refusal = work.gate.enter(key, work.tier, method.costUnits, overload);
  if (refusal !== undefined) {
    return limited(work, "too much load; try again later", overload.retryAfterSeconds, refusal);
  }
  return readSplit(
    { method, pieces, parallel: ranges.splitParallel, limitBytes: limits.batchResponseBytes },
    { id: work.id, sink: work.sink, reads: work.reads, traceparent: work.context.traceparent },
    (outcome) => {
      work.gate.leave(key, method.costUnits, overload);
      ended(work, outcome);
    },
  );
}

/** The method as metrics name it. A name that only the client knows is never a label, or clients would make series. */
function labelOf({ rules, method }: Asking): string {
  if (method === undefined) return "unknown";
  return rules.catalogue.has(method.name) ? method.name : "unlisted";
}

function ended(work: Asking, outcome: CallOutcome): void {
  const { meter, context, now } = work;
  meter.call({
    method: labelOf(work),
    tier: context.caller.tierName,
    outcome,
    seconds: (now() - context.startedAt) / 1_000,
    requestId: context.requestId,
  });
}

function answered(work: Work, text: string): AnswerFlow {
  ended(work, "gateway");
  work.sink.text(text, "gateway");
  return finishedFlow;
}

function failed(work: Asking, error: RpcError, limit?: LimitName): AnswerFlow {
  if (limit !== undefined) work.meter.limited(limit, work.context.caller.tierName);
  ended(work, "refused");
  work.sink.text(errorText(work.id, error), "gateway");
  return finishedFlow;
}

function limited(
  work: Asking,
  message: string,
  seconds: number,
  limit: "rate" | "concurrency" | "overload",
): AnswerFlow {
  work.meter.limited(limit, work.context.caller.tierName);
  ended(work, limit === "overload" ? "overload" : "limited");
  work.sink.refused(errorText(work.id, limitExceeded(message)), seconds);
  return finishedFlow;
}
