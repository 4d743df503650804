import { nodeFailureErrors, type NodeFailure } from "../errors.ts";
import { isAt } from "../json-rpc/json-scanner.ts";
import { errorJsonText, errorText, resultText } from "../json-rpc/answer-text.ts";
import { readAnswer } from "../json-rpc/read-answer.ts";
import type { HeldBytes } from "../memory/connection-memory.ts";
import type { NodeSink } from "../upstream/node-call.ts";
import { CollectedAnswer } from "../upstream/collected-answer.ts";
import { PassThrough } from "./pass-through.ts";
import type { Reader } from "./reader.ts";

/** The id under which a call travels whose own might come back written another way. */
export const carriedId = "1";

/** How most nodes begin their answer to it. */
const answerStart = `{"jsonrpc":"2.0","id":${carriedId},`;

/** Longest answer that is read to find its id: it is read at once. */
const readBytes = 524_288;

/**
 * Gives the node's answer back under its reader's own id. One that begins as most nodes write it is handed on as it comes, with another
 * beginning; any other has to be read, and may not be long.
 */
export class RenamedAnswer implements NodeSink {
  readonly #reader: Reader;
  readonly #memory: HeldBytes;
  #lengthBytes: number | undefined;
  #sofar: Buffer = Buffer.alloc(0);
  #onward: NodeSink | undefined;

  /** @param memory What has to be collected is held in it. */
  constructor(reader: Reader, memory: HeldBytes) {
    this.#reader = reader;
    this.#memory = memory;
  }

  whole(body: Buffer): void {
    const isShort = body.length <= readBytes || isAt(body, 0, answerStart);
    const answer = isShort ? readAnswer(body.toString("latin1"), carriedId) : undefined;
    const { id, sink } = this.#reader;
    if (answer === undefined) this.#failed(isShort ? "badAnswer" : "tooLarge");
    else {
      this.#reader.done("answered");
      const isResult = answer.kind === "result";
      sink.text(isResult ? resultText(id, answer.json) : errorJsonText(id, answer.json), "node");
    }
  }

  begin(lengthBytes: number | undefined): void {
    this.#lengthBytes = lengthBytes;
  }

  chunk(bytes: Buffer): boolean {
    if (this.#onward !== undefined) return this.#onward.chunk(bytes);
    this.#sofar = this.#sofar.length === 0 ? bytes : Buffer.concat([this.#sofar, bytes]);
    if (this.#sofar.length < answerStart.length) return true;
    const sofar = this.#sofar;
    if (!isAt(sofar, 0, answerStart)) {
      this.#onward = new CollectedAnswer(readBytes, this.#reading(), this.#memory);
      this.#onward.begin(this.#lengthBytes);
      return this.#onward.chunk(sofar);
    }
    const start = Buffer.from(`{"jsonrpc":"2.0","id":${this.#reader.id},`, "latin1");
    this.#onward = new PassThrough(this.#reader);
    const moreBytes = start.length - answerStart.length;
    this.#onward.begin(this.#lengthBytes === undefined ? undefined : this.#lengthBytes + moreBytes);
    return this.#onward.chunk(Buffer.concat([start, sofar.subarray(answerStart.length)]));
  }

  end(): void {
    if (this.#onward === undefined) this.whole(this.#sofar);
    else this.#onward.end();
  }

  fail(failure: NodeFailure): void {
    if (this.#onward === undefined) this.#failed(failure);
    else this.#onward.fail(failure);
  }

  #reading() {
    return {
      whole: (body: Buffer) => this.whole(body),
      fail: (failure: NodeFailure) => this.#failed(failure),
      tooLong: () => {
        this.#failed("tooLarge");
        return undefined;
      },
    };
  }

  #failed(failure: NodeFailure): void {
    const { id, sink } = this.#reader;
    this.#reader.done(failure);
    sink.text(errorText(id, nodeFailureErrors[failure]), "gateway");
  }
}
