import { formatErrorResponse } from "../json-rpc/read-answer.ts";
import type { RpcError, NodeFailure } from "../errors.ts";
import type { LimitName } from "../observe/meter.ts";
import { finishedFlow, type ResponseFlow, type ResponseSink, type ResponseSource } from "../answers/answer-sink.ts";
import type { CallRecord } from "./call-record.ts";

/** Answers a call with data that the gateway already has. */
export function answerCall(record: CallRecord, text: string): ResponseFlow {
  record.ended("gateway");
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

/** A sink that calls `onEnd` when its response ends, before forwarding the end: the client's next request may follow immediately. */
export class EndingSink implements ResponseSink {
  readonly #sink: ResponseSink;
  readonly #ended: () => void;

  constructor(sink: ResponseSink, onEnd: () => void) {
    this.#sink = sink;
    this.#ended = onEnd;
  }

  text(json: string, source: ResponseSource, retryAfterSeconds?: number): void {
    this.#ended();
    this.#sink.text(json, source, retryAfterSeconds);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.#ended();
    this.#sink.bytes(body, source);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#sink.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    return this.#sink.chunk(bytes);
  }

  end(): void {
    this.#ended();
    this.#sink.end();
  }

  fail(failure: NodeFailure): void {
    this.#ended();
    this.#sink.fail(failure);
  }
}

/** Flow control that calls `onEnd` when the reader cancels the response. */
export class EndingFlow implements ResponseFlow {
  readonly #flow: ResponseFlow;
  readonly #ended: () => void;

  constructor(flow: ResponseFlow, onEnd: () => void) {
    this.#flow = flow;
    this.#ended = onEnd;
  }

  resume(): void {
    this.#flow.resume();
  }

  cancel(): void {
    this.#flow.cancel();
    this.#ended();
  }
}

/** Flow control of a response that starts later, unless its reader disconnects first. */
export class LateFlow implements ResponseFlow {
  #flow: ResponseFlow | undefined;
  #isCancelled = false;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Starts the response. A reader may also disconnect during the start. */
  begin(start: () => ResponseFlow): void {
    if (this.#isCancelled) return;
    this.#flow = start();
    if (this.isCancelled) this.#flow.cancel();
  }

  resume(): void {
    this.#flow?.resume();
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#flow?.cancel();
  }
}
