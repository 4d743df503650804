import type { ResponseFailure } from "../errors.ts";
import { isAt } from "../json-rpc/json-scanner.ts";
import { formatNodeResponse, readNodeResponse } from "../json-rpc/read-answer.ts";
import type { ResponseSink, ResponseSource } from "../responses/response-sink.ts";
import { createTextSink } from "../responses/text-sink.ts";
import type { NodeRead } from "./node-read.ts";

/** Substitute id for calls whose own id might come back in a different form. */
export const substituteId = "1";

/** Start of most nodes' responses to a call with this id. */
const responseStart = `{"jsonrpc":"2.0","id":${substituteId},`;

/** Max length of a response that is parsed for its id: parsing is synchronous. */
const readBytes = 524_288;

/**
 * Responds to a read with the node's response under the read's own id. A response that starts in the way most nodes write it is streamed
 * with its start replaced; any other response has to be parsed, so its length is limited.
 */
export class IdRewritingSink implements ResponseSink {
  readonly #read: ResponseSink & Pick<NodeRead, "id" | "memory">;
  #lengthBytes: number | undefined;
  #source: ResponseSource = "node";
  #soFar: Buffer = Buffer.alloc(0);
  #onward: ResponseSink | undefined;

  constructor(read: ResponseSink & Pick<NodeRead, "id" | "memory">) {
    this.#read = read;
  }

  text(json: string, source: ResponseSource): void {
    const isShort = json.length <= readBytes || json.startsWith(responseStart);
    const response = isShort ? readNodeResponse(json, substituteId) : undefined;
    if (response === undefined) this.#read.fail(isShort ? "badAnswer" : "tooLarge");
    else this.#read.text(formatNodeResponse(this.#read.id, response), source);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    this.text(body.toString("latin1"), source);
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#lengthBytes = lengthBytes;
    this.#source = source;
  }

  chunk(bytes: Buffer): boolean {
    if (this.#onward !== undefined) return this.#onward.chunk(bytes);
    this.#soFar = this.#soFar.length === 0 ? bytes : Buffer.concat([this.#soFar, bytes]);
    if (this.#soFar.length < responseStart.length) return true;
    const soFar = this.#soFar;
    if (!isAt(soFar, 0, responseStart)) {
      this.#onward = createTextSink(readBytes, this.#read.memory, (response) => {
        if (typeof response === "string") this.#read.fail(response);
        else this.text(response.text, response.source);
      });
      this.#onward.begin(this.#lengthBytes, this.#source);
      return this.#onward.chunk(soFar);
    }
    const start = Buffer.from(`{"jsonrpc":"2.0","id":${this.#read.id},`, "latin1");
    this.#onward = this.#read;
    const moreBytes = start.length - responseStart.length;
    this.#onward.begin(this.#lengthBytes === undefined ? undefined : this.#lengthBytes + moreBytes, this.#source);
    return this.#onward.chunk(Buffer.concat([start, soFar.subarray(responseStart.length)]));
  }

  end(): void {
    if (this.#onward === undefined) this.bytes(this.#soFar, this.#source);
    else this.#onward.end();
  }

  fail(failure: ResponseFailure): void {
    (this.#onward ?? this.#read).fail(failure);
  }
}
