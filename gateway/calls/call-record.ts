import type { Method } from "../catalogue/method.ts";
import { findRetryAfterSeconds, rateExceeded, responseErrors, type ResponseFailure, type RpcError } from "../errors.ts";
import { isBad, TypicalCall, type BadCall, type Call } from "../json-rpc/call.ts";
import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import type { CallGate, LoadRejection } from "../limits/load-gate.ts";
import { ResponseMemory } from "../responses/response-memory.ts";
import type { CallOutcome, LimitName } from "../observe/meter.ts";
import type { CallTrace } from "../observe/otlp-tracing.ts";
import { findMethod } from "../policy.ts";
import type { NodeRead } from "../reads/node-read.ts";
import { finishedFlow, type ResponseFlow, type ResponseSink, type ResponseSource } from "../responses/response-sink.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import { minChargedBytes, unavailableMethod, type CallAccounting } from "./call-accounting.ts";

/** Interval in bytes at which a streamed response is charged, and the max bytes for which a disconnecting caller is not charged. */
const stepBytes = 65_536;

/** Placeholder for the memory of a completed call, which counts nothing. */
const noMemory: HeldBytes = { hold: () => true, tryAcquire: () => false, release: () => undefined };

/**
 * One call, from its message to the end of its response. Fields are filled in as the call proceeds. The response ends the call: it charges
 * the caller for the length, and forwards the response to the client. It is a single object, because a batch has many.
 */
export class CallRecord implements NodeRead {
  readonly account: CallAccounting;
  readonly call: Call | BadCall;
  readonly id: string;
  readonly caller: string;
  /** The method with this name if the caller may call it, otherwise {@link unavailableMethod}. */
  readonly method: Method;
  /** Units that the call costs: the method's cost, or more if the call specifies a lot of gas. */
  costUnits: number;
  /** JSON text of an array, as checked, the `buildCallKey` of method and parameters, and its `hashKey`; empty until the check. */
  params = "";
  key = "";
  hash = 0;
  /** The whole call as the client wrote it, if it can be sent to the node unchanged. */
  wire: string | undefined;
  /** Sends the call to the node together with others in its batch; undefined if the call is sent alone. */
  sender: NodeSender | undefined;
  readonly trace: CallTrace | undefined;
  /** Trace context sent to the node: the client's own, unless the call is traced by the gateway. */
  traceContext: TraceContext | undefined;
  /** The gate that admitted the call to the node, and the time of admission; undefined if the call did not go there. */
  gate: CallGate | undefined;
  requestedAt = 0;
  /** Time when the call started to wait for its caller's other calls; undefined if it did not have to. */
  queuedAt: number | undefined;
  /** Time when a streamed response started; after that, its reader sets the pace. */
  #beganAt: number | undefined;
  readonly #client: ResponseSink;
  #answerBytes = 0;
  #chargedKiB = 0;
  /** Created when the call first needs it. */
  #memory: ResponseMemory | undefined;
  #hasEnded = false;

  constructor(account: CallAccounting, call: Call | BadCall, client: ResponseSink, trace?: CallTrace) {
    const { message, policy, tier } = account;
    this.account = account;
    this.call = call;
    this.id = call.id ?? "null";
    this.caller = account.key;
    const { listener } = message.caller;
    this.method = (isBad(call) ? undefined : findMethod(policy, tier, call.method, listener)) ?? unavailableMethod;
    this.costUnits = this.method.costUnits;
    this.trace = trace;
    this.traceContext = message.traceContext;
    this.#client = client;
  }

  get memory(): HeldBytes {
    return this.#hasEnded ? noMemory : (this.#memory ??= new ResponseMemory(this.account.message.memory));
  }

  hasLastParam(index: number, json: string): boolean {
    const { call } = this;
    return this.wire !== undefined && call instanceof TypicalCall && call.hasLastParam(index, json);
  }

  /** Admits the call to the node if a gate has a free slot, which the call releases when it ends. */
  enter(gate: CallGate): LoadRejection | undefined {
    const rejection = this.account.enter(gate, this.method, this.costUnits);
    if (rejection !== undefined) return rejection;
    this.entered(gate, this.account.context.now());
    if (this.trace !== undefined) this.traceContext = this.trace.requestNode();
    return undefined;
  }

  entered(gate: CallGate, requestedAt: number): void {
    this.gate = gate;
    this.requestedAt = requestedAt;
  }

  /** Releases the slot of a call whose time at the node is not counted, because it is read in pieces. */
  leave(): void {
    if (this.gate !== undefined) this.account.leave(this.gate, this.costUnits);
    this.gate = undefined;
  }

  /** Ends the call once: releases its slot, charges the node's time, and records metrics and trace. */
  ended(outcome: CallOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#memory?.[Symbol.dispose]();
    const { account, gate, trace, traceContext } = this;
    const { meter, now } = account.context;
    const endedAt = now();
    const method = account.label(this.method);
    const sampledTraceId = trace?.sampledTraceId;
    if (gate !== undefined) {
      account.leave(gate, this.costUnits);
      // A call that shared another call's read has no node time of its own; the node time of a cancelled call is unknown.
      if (outcome !== "coalesced") account.oweNodeTime(this, this.#beganAt ?? endedAt);
      if (outcome !== "coalesced" && outcome !== "cancelled")
        meter.node(method, (endedAt - this.requestedAt) / 1_000, sampledTraceId);
    }
    const { caller, requestId } = account.message;
    const seconds = (endedAt - account.startedAt) / 1_000;
    const completedCall = { method, tier: caller.tierName, outcome, seconds, requestId, traceContext, sampledTraceId };
    meter.call(completedCall);
    trace?.end(completedCall);
  }

  cancelled(): void {
    this.ended("cancelled");
  }

  /** Responds with data that the gateway already has. */
  respond(json: string): ResponseFlow {
    this.text(json, "gateway");
    return finishedFlow;
  }

  respondWithoutNode(error: RpcError): ResponseFlow {
    this.ended("failed");
    return this.respond(formatErrorResponse(this.id, error));
  }

  /** Rejects a call that no retry can change; `limit` is the limit that it would have exceeded, if any. */
  reject(error: RpcError, limit?: LimitName): ResponseFlow {
    if (limit !== undefined) this.account.limited(limit);
    this.ended("rejected");
    return this.respond(formatErrorResponse(this.id, error));
  }

  /** Rejects a call that may be retried later. */
  rejectTemporarily(
    error: RpcError,
    seconds: number,
    limit: "rate" | "concurrency" | "overload" | "memory",
  ): ResponseFlow {
    this.account.limited(limit);
    this.ended(limit === "overload" ? "overload" : "limited");
    this.text(formatErrorResponse(this.id, error), "gateway", seconds);
    return finishedFlow;
  }

  rejectRate(waitMs: number): ResponseFlow {
    const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
    return this.rejectTemporarily(rateExceeded(seconds), seconds, "rate");
  }

  /** Responds. Unless the call has already ended, its outcome is the source of the response. */
  text(json: string, source: ResponseSource, retryAfterSeconds?: number): void {
    this.#answered(source);
    // A response caused by a limit costs nothing extra.
    if (retryAfterSeconds === undefined) this.#countResponse(json.length);
    this.#client.text(json, source, retryAfterSeconds);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.#answered(source);
    this.#countResponse(body.length);
    this.#client.bytes(body, source);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#beganAt = this.account.context.now();
    this.#client.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    this.#answerBytes += bytes.length;
    if (this.#answerBytes - this.#chargedKiB * minChargedBytes >= stepBytes) this.#charge();
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

  #countResponse(bytes: number): void {
    this.#answerBytes = bytes;
    if (bytes >= minChargedBytes) this.#charge();
  }

  #charge(): void {
    this.#chargedKiB = this.account.oweResponse(this.#answerBytes, this.#chargedKiB);
  }
}
