import { fallbackTier, findMethod } from "../callers/caller.ts";
import type { Method } from "../catalogue/method.ts";
import { never, defineNodeMethod } from "../catalogue/method-parts.ts";
import { findRetryAfterSeconds, responseErrors, type ResponseFailure } from "../errors.ts";
import { isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import type { CallGate, LoadRejection } from "../limits/load-gate.ts";
import { NodeTime, runsCode } from "../limits/node-time.ts";
import { HeldScope } from "../memory/held-scope.ts";
import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { CallOutcome } from "../observe/meter.ts";
import type { Policy } from "../policy.ts";
import type { NodeRead } from "../reads/node-read.ts";
import type { Tier } from "../settings/policy.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { ResponseSink, ResponseSource } from "../responses/response-sink.ts";
import type { CallContext, CallDependencies } from "./call-context.ts";

/** Interval in bytes at which a streamed response is charged, and the max bytes for which a disconnecting caller is not charged. */
const stepBytes = 65_536;
const bytesOfKiB = 1_024;

/** Placeholder for a method that the caller can't call, or that does not exist. */
export const noMethod: Method = defineNodeMethod({
  name: "unknown",
  summary: "No method",
  params: [],
  result: "an error",
  audience: "nobody",
  costUnits: 1,
  cache: never,
});

/** Memory of a call that has ended: nothing more is counted. */
const nothingHeld: HeldBytes = { hold: () => true, tryAcquire: () => false, release: () => undefined };

/**
 * One call, from its message to the end of its response, under the policy that was active on arrival. Fields are filled in as the call
 * proceeds. It receives the node's response, charges the caller for the response's length, and forwards it to the client. It is a single
 * object, because a batch has many.
 */
export class CallRecord implements NodeRead {
  readonly dependencies: CallDependencies;
  readonly policy: Policy;
  readonly tier: Tier;
  readonly call: Call | BadCall;
  /** JSON text of the id used in the response. */
  readonly id: string;
  readonly context: CallContext;
  readonly caller: string;
  /** The method with this name if the caller may call it, otherwise {@link noMethod}. */
  readonly method: Method;
  /** Units that the call costs: the method's cost, or more if the call specifies a lot of gas. */
  costUnits: number;
  /** JSON text of an array, as checked, and the `buildCallKey` of method and parameters; both are empty until the check. */
  params = "";
  key = "";
  /** The whole call as the client wrote it, if it can be sent to the node unchanged. */
  wire: string | undefined;
  /** Sends the call to the node together with others in its batch; undefined if the call is sent alone. */
  sender: NodeSender | undefined;
  /** Trace context sent to the node: the client's own, unless the call is traced by the gateway. */
  traceContext: TraceContext | undefined;
  readonly #client: ResponseSink;
  readonly #isCharged: boolean;
  #answerBytes = 0;
  #chargedKiB = 0;
  /** The gate that admitted the call to the node, and the time of admission. */
  #gate: CallGate | undefined;
  #requestedAt = 0;
  /** Time when a streamed response began: after that, its reader sets the pace. */
  #beganAt: number | undefined;
  /** Undefined if the call runs no contract code. */
  #nodeTime: NodeTime | undefined;
  /** Created when the call first needs it. */
  #memory: HeldScope | undefined;
  #hasEnded = false;

  /** `client` is the sink for the client's response, `policy` the policy that was active when the call arrived. */
  constructor(
    dependencies: CallDependencies,
    call: Call | BadCall,
    context: CallContext,
    client: ResponseSink,
    policy = dependencies.policy(),
  ) {
    const { caller } = context;
    const { enabled, unitsPerAnswerKiB } = policy.settings.rateLimit;
    this.dependencies = dependencies;
    this.policy = policy;
    this.tier = policy.tiers.get(caller.tierName) ?? fallbackTier;
    this.call = call;
    this.id = call.id ?? "null";
    this.context = context;
    this.caller = caller.key;
    this.method = (isBad(call) ? undefined : findMethod(policy, this.tier, call.method, caller)) ?? noMethod;
    this.costUnits = this.method.costUnits;
    this.wire = undefined;
    this.sender = undefined;
    this.traceContext = context.traceContext;
    this.#client = client;
    this.#isCharged = enabled && unitsPerAnswerKiB > 0;
  }

  get memory(): HeldBytes {
    return this.#hasEnded ? nothingHeld : (this.#memory ??= new HeldScope(this.context.memory));
  }

  /** Ends the call, once: releases what it takes, and counts, times and traces it. */
  ended(outcome: CallOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const endedAt = this.dependencies.now();
    this.#memory?.[Symbol.dispose]();
    if (this.#gate !== undefined) this.#leaveNode(this.#gate, outcome, endedAt);
    const { caller, startedAt, requestId, trace } = this.context;
    const seconds = (endedAt - startedAt) / 1_000;
    const { traceContext } = this;
    const sampledTraceId = trace?.sampledTraceId;
    const call = {
      method: this.#label,
      tier: caller.tierName,
      outcome,
      seconds,
      requestId,
      traceContext,
      sampledTraceId,
    };
    this.dependencies.meter.call(call);
    trace?.end(call);
  }

  /** Admits the call to the node if a gate has a free slot. The call releases its slot when it ends, or in `leave`. */
  enter(gate: CallGate): LoadRejection | undefined {
    const { dependencies, policy, context } = this;
    const refusal = gate.enter(this.caller, this.tier, this.costUnits, policy.settings.overload);
    if (refusal !== undefined) return refusal;
    this.#gate = gate;
    this.#requestedAt = dependencies.now();
    if (runsCode(this.method)) {
      this.#nodeTime = gate === context.batch?.gate ? context.batch.nodeTime : new NodeTime();
      this.#nodeTime.pay(this.costUnits);
    }
    if (context.trace !== undefined) this.traceContext = context.trace.requestNode();
    return undefined;
  }

  /** Takes over the slot of a plain read that its batch's gate admitted to the node. */
  takeOver(gate: CallGate, requestedAt: number): void {
    this.#gate = gate;
    this.#requestedAt = requestedAt;
    if (runsCode(this.method)) this.#nodeTime = this.context.batch?.nodeTime;
  }

  /** Releases the slot of a call whose time at the node is not counted, because it is read in pieces. */
  leave(): void {
    this.#gate?.leave(this.caller, this.costUnits, this.policy.settings.overload);
    this.#gate = undefined;
  }

  #leaveNode(gate: CallGate, outcome: CallOutcome, endedAt: number): void {
    const { caller, tier, policy } = this;
    const { meter, limiter } = this.dependencies;
    gate.leave(caller, this.costUnits, policy.settings.overload);
    // A call that shared another call's read has no node time of its own; the node time of a cancelled call is unknown.
    if (outcome === "coalesced") return;
    const timed = { caller, tier, startedAt: this.#requestedAt, endedAt: this.#beganAt ?? endedAt };
    this.#nodeTime?.charge(timed, policy.settings.rateLimit, limiter);
    if (outcome !== "cancelled")
      meter.node(this.#label, (endedAt - this.#requestedAt) / 1_000, this.context.trace?.sampledTraceId);
  }

  cancelled(): void {
    this.ended("cancelled");
  }

  /** Responds. Unless the call has ended in another way, it ends with the source of its response. */
  text(json: string, source: ResponseSource, retryAfterSeconds?: number): void {
    this.#answered(source);
    // A response caused by a limit incurs no further cost.
    if (retryAfterSeconds === undefined) this.#came(json.length);
    this.#client.text(json, source, retryAfterSeconds);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.#answered(source);
    this.#came(body.length);
    this.#client.bytes(body, source);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#beganAt = this.dependencies.now();
    this.#client.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    this.#answerBytes += bytes.length;
    if (this.#answerBytes - this.#chargedKiB * bytesOfKiB >= stepBytes) this.#charge();
    return this.#client.chunk(bytes);
  }

  end(): void {
    this.#answered("node");
    this.#charge();
    this.#client.end();
  }

  fail(failure: ResponseFailure): void {
    this.ended("failed");
    if (this.#beganAt === undefined) {
      const text = formatErrorResponse(this.id, responseErrors[failure]);
      this.#client.text(text, "gateway", findRetryAfterSeconds(failure));
      return;
    }
    this.#charge();
    this.#client.fail(failure);
  }

  #answered(source: ResponseSource): void {
    this.ended(source === "mixed" ? "node" : source);
  }

  #came(bytes: number): void {
    this.#answerBytes = bytes;
    if (bytes >= bytesOfKiB) this.#charge();
  }

  /**
   * Charges the caller for the response so far, beyond the free bytes of each response. The length is not known before the call, so the
   * caller may go into debt, and can't call again until the debt is paid.
   */
  #charge(): void {
    if (!this.#isCharged) return;
    const { unitsPerAnswerKiB, freeAnswerKiB } = this.policy.settings.rateLimit;
    const kib = Math.floor(this.#answerBytes / bytesOfKiB);
    const dueKiB = kib - Math.max(freeAnswerKiB, this.#chargedKiB);
    this.#chargedKiB = kib;
    if (dueKiB > 0) this.dependencies.limiter.owe(this.caller, dueKiB * unitsPerAnswerKiB, this.tier);
  }

  /** Metrics label for the method. A name that comes only from the client never becomes a label, or clients could create series. */
  get #label(): string {
    if (this.method === noMethod) return noMethod.name;
    return this.policy.catalogue.has(this.method.name) ? this.method.name : "unlisted";
  }
}
