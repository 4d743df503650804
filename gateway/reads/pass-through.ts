import { nodeFailureErrors, type NodeFailure } from "../errors.ts";
import { errorText } from "../json-rpc/answer-text.ts";
import type { NodeSink } from "../upstream/node-call.ts";
import type { Reader } from "./reader.ts";

/** Hands the node's bytes on to a client as they come, unread. */
export class PassThrough implements NodeSink {
  readonly #reader: Reader;
  #hasBegun = false;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  whole(body: Buffer): void {
    this.#reader.done("answered");
    this.#reader.sink.bytes(body, "node");
  }

  text(answer: string): void {
    this.#reader.done("answered");
    this.#reader.sink.text(answer, "node");
  }

  begin(lengthBytes: number | undefined): void {
    this.#hasBegun = true;
    this.#reader.sink.begin(lengthBytes, "node");
  }

  chunk(bytes: Buffer): boolean {
    return this.#reader.sink.chunk(bytes);
  }

  end(): void {
    this.#reader.done("answered");
    this.#reader.sink.end();
  }

  fail(failure: NodeFailure): void {
    const { id, sink } = this.#reader;
    this.#reader.done(failure);
    if (this.#hasBegun) sink.broken();
    else sink.text(errorText(id, nodeFailureErrors[failure]), "gateway");
  }
}
