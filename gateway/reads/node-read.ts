import type { ResponseSink, ResponseSource } from "../responses/response-sink.ts";
import type { Method } from "../catalogue/method.ts";
import { findRetryAfterSeconds, type NodeFailure, nodeFailureErrors } from "../errors.ts";
import type { HeldBytes } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/trace-context.ts";
import type { NodeSender } from "../upstream/node-call.ts";
import { formatErrorResponse } from "../json-rpc/read-answer.ts";

/** Outcome of a call to the node. */
export type ReadOutcome = "answered" | "coalesced" | "cancelled" | NodeFailure;

/** A call to the node that has passed every check. */
export type NodeRead = Readonly<{
  /** Id for the response, as JSON text. */
  id: string;
  method: Method;
  /** Key of the caller. */
  caller: string;
  /** Memory budget of the caller's connection. */
  memory: HeldBytes;
  /** JSON text of an array. */
  params: string;
  /** The result of `formatCall` for the id, method and params, if the client sent the call in that form. */
  wire?: string | undefined;
  /** The `buildCallKey` of method and params. */
  key: string;
  traceContext: TraceContext | undefined;
  /** Sends the call to the node in a batch; if absent, the call is sent alone. */
  sender?: NodeSender | undefined;
  sink: ResponseSink;
  /** Called once, when the response is complete. */
  done: (outcome: ReadOutcome) => void;
}>;

/** Forwards the node's bytes to a client as they arrive, without parsing them. */
export class PassThrough implements ResponseSink {
  readonly #read: Pick<NodeRead, "id" | "sink" | "done">;
  #hasBegun = false;

  constructor(read: Pick<NodeRead, "id" | "sink" | "done">) {
    this.#read = read;
  }

  text(json: string, source: ResponseSource): void {
    this.#read.done("answered");
    this.#read.sink.text(json, source);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.#read.done("answered");
    this.#read.sink.bytes(body, source);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#hasBegun = true;
    this.#read.sink.begin(lengthBytes, source);
  }

  chunk(bytes: Buffer): boolean {
    return this.#read.sink.chunk(bytes);
  }

  end(): void {
    this.#read.done("answered");
    this.#read.sink.end();
  }

  fail(failure: NodeFailure): void {
    if (!this.#hasBegun) {
      passFailure(this.#read, failure);
      return;
    }
    this.#read.done(failure);
    this.#read.sink.fail(failure);
  }
}

/** Responds to a read with a text, and ends the read. */
export function notify(read: NodeRead, text: string, outcome: ReadOutcome, source: ResponseSource): void {
  read.done(outcome);
  read.sink.text(text, source);
}

/** Responds to a read with the node's failure, and ends the read. */
export function passFailure(read: Pick<NodeRead, "id" | "sink" | "done">, failure: NodeFailure): void {
  read.done(failure);
  const text = formatErrorResponse(read.id, nodeFailureErrors[failure]);
  read.sink.text(text, "gateway", findRetryAfterSeconds(failure));
}
