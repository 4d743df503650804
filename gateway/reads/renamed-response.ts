import type { NodeFailure } from "../errors.ts";
import { isAt } from "../json-rpc/json-scanner.ts";
import { formatErrorJsonResponse, formatResultResponse, readAnswer } from "../json-rpc/read-answer.ts";
import type { ResponseSink, ResponseSource } from "../responses/response-sink.ts";
import { CollectedResponse } from "../upstream/collected-response.ts";
import { passFailure, PassThrough, type NodeRead } from "./node-read.ts";

/** Substitute id for calls whose own id might come back in a different form. */
export const carriedId = "1";

/** Start of most nodes' responses to a call with this id. */
const answerStart = `{"jsonrpc":"2.0","id":${carriedId},`;

/** Max length of a response that is parsed for its id: parsing is synchronous. */
const readBytes = 524_288;

/** A read whose response, if it has to be buffered, counts against the read's memory budget. */
type Renamed = Pick<NodeRead, "id" | "sink" | "done" | "memory">;

/**
 * Responds to a read with the node's response under the read's own id. A response that starts in the way most nodes write it is streamed
 * with its start replaced; any other response has to be parsed, so its length is limited.
 */
export class RenamedResponse implements ResponseSink {
  readonly #read: Renamed;
  #lengthBytes: number | undefined;
  #source: ResponseSource = "node";
  #sofar: Buffer = Buffer.alloc(0);
  #onward: ResponseSink | undefined;

  constructor(read: Renamed) {
    this.#read = read;
  }

  text(json: string, source: ResponseSource): void {
    this.bytes(Buffer.from(json, "latin1"), source);
  }

  bytes(body: Buffer, source: ResponseSource): void {
    const isShort = body.length <= readBytes || isAt(body, 0, answerStart);
    const answer = isShort ? readAnswer(body.toString("latin1"), carriedId) : undefined;
    const { id, sink } = this.#read;
    if (answer === undefined) this.#failed(isShort ? "badAnswer" : "tooLarge");
    else {
      this.#read.done("answered");
      const isResult = answer.kind === "result";
      sink.text(isResult ? formatResultResponse(id, answer.json) : formatErrorJsonResponse(id, answer.json), source);
    }
  }

  begin(lengthBytes: number | undefined, source: ResponseSource): void {
    this.#lengthBytes = lengthBytes;
    this.#source = source;
  }

  chunk(bytes: Buffer): boolean {
    if (this.#onward !== undefined) return this.#onward.chunk(bytes);
    this.#sofar = this.#sofar.length === 0 ? bytes : Buffer.concat([this.#sofar, bytes]);
    if (this.#sofar.length < answerStart.length) return true;
    const sofar = this.#sofar;
    if (!isAt(sofar, 0, answerStart)) {
      this.#onward = new CollectedResponse(readBytes, this.#reading(), this.#read.memory);
      this.#onward.begin(this.#lengthBytes, this.#source);
      return this.#onward.chunk(sofar);
    }
    const start = Buffer.from(`{"jsonrpc":"2.0","id":${this.#read.id},`, "latin1");
    this.#onward = new PassThrough(this.#read);
    const moreBytes = start.length - answerStart.length;
    this.#onward.begin(this.#lengthBytes === undefined ? undefined : this.#lengthBytes + moreBytes, this.#source);
    return this.#onward.chunk(Buffer.concat([start, sofar.subarray(answerStart.length)]));
  }

  end(): void {
    if (this.#onward === undefined) this.bytes(this.#sofar, this.#source);
    else this.#onward.end();
  }

  fail(failure: NodeFailure): void {
    if (this.#onward === undefined) this.#failed(failure);
    else this.#onward.fail(failure);
  }

  #reading() {
    return {
      whole: (body: Buffer) => this.bytes(body, this.#source),
      fail: (failure: NodeFailure) => this.#failed(failure),
      tooLong: () => {
        this.#failed("tooLarge");
        return undefined;
      },
    };
  }

  #failed(failure: NodeFailure): void {
    passFailure(this.#read, failure);
  }
}
