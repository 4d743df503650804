import type { Socket } from "node:net";
import type { CallerIdentity } from "../callers/caller.ts";
import type { Identify } from "../callers/identify.ts";
import type { AnswerFlow, AnswerSink } from "../dispatch/answer-sink.ts";
import type { MessageHandler } from "../dispatch/message-handler.ts";
import type { FastAnswerHeads } from "./fast-answer.ts";
import { makeFastSink } from "./fast-sink.ts";
import { fastHeadBytes, readFastHead, type FastHead } from "./fast-head.ts";

const headEnd = Buffer.from("\r\n\r\n");
/** Bytes that may come while an answer is under way before the connection is no longer read. */
const earlyBytes = 65_536;
/** Time in which a new connection has to send its first bytes, as node:http has it. */
const firstBytesMs = 10_000;
/** Time without progress after which a connection that is being closed is no longer waited for. */
const closingMs = 1_000;

/** What a fast connection answers with. */
export type FastConnectionDependencies = Readonly<{
  heads: FastAnswerHeads;
  identify: Identify;
  handle: MessageHandler;
  bodyBytes: () => number;
  isAllowedHost: (host: string) => boolean;
  isDraining: () => boolean;
  idleTimeoutMs: number;
  /** Gives the connection, with bytes that were read but not answered, to node:http for good. */
  handOver: (socket: Socket, unread: Buffer) => void;
  closed: (connection: FastConnection) => void;
}>;

/**
 * A client's connection on the raw socket, for as long as it sends whole requests of the one common shape, one at a time. At
 * anything else it goes to node:http, with the bytes that were not answered. Nothing of a client's request is ever passed on:
 * the node gets requests that the gateway writes.
 */
export class FastConnection {
  readonly #socket: Socket;
  readonly #dependencies: FastConnectionDependencies;
  readonly #remoteAddress: string;
  readonly #sink: AnswerSink;
  #lastHead: Buffer | undefined;
  #lastRead: FastHead | undefined;
  #isBusy = false;
  #flow: AnswerFlow | undefined;
  /** What was read and is not answered: whole requests that came at once, or the start of one while an answer is under way. */
  #unread: Buffer | undefined;
  #isServing = false;
  #isGone = false;

  constructor(socket: Socket, dependencies: FastConnectionDependencies) {
    this.#socket = socket;
    this.#dependencies = dependencies;
    this.#remoteAddress = socket.remoteAddress ?? "";
    this.#sink = makeFastSink(socket, {
      heads: dependencies.heads,
      isDraining: dependencies.isDraining,
      finish: () => this.#finish(),
    });
    socket.setTimeout(Math.min(firstBytesMs, dependencies.idleTimeoutMs));
    socket.on("data", this.#receive);
    socket.on("drain", this.#drained);
    socket.on("end", this.#ended);
    socket.on("timeout", this.#timedOut);
    socket.on("error", this.#failed);
    socket.on("close", this.#closed);
  }

  /** Ends the connection unless an answer is under way, which ends it itself while the listener drains. */
  closeIfIdle(): void {
    if (!this.#isBusy) this.#leave();
  }

  readonly #receive = (bytes: Buffer): void => {
    this.#unread = this.#unread === undefined ? bytes : Buffer.concat([this.#unread, bytes]);
    if (this.#isBusy) {
      if (this.#unread.length > earlyBytes) this.#socket.pause();
    } else if (this.#socket.writableNeedDrain) this.#socket.pause();
    else this.#serve();
  };

  /**
   * Answers what has been read, one request after another. A request that waits for its answer ends the loop, and so does a
   * client that does not take the answers it has.
   */
  #serve(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    for (let bytes = this.#unread; bytes !== undefined && this.#mayServe(); bytes = this.#unread) {
      this.#unread = undefined;
      this.#serveOne(bytes);
    }
    this.#isServing = false;
  }

  #mayServe(): boolean {
    return !this.#isBusy && !this.#isGone && !this.#socket.writableNeedDrain;
  }

  #serveOne(bytes: Buffer): void {
    const body = this.#bodyOf(bytes);
    const head = this.#lastRead;
    if (body === undefined || head === undefined || this.#dependencies.isDraining()) {
      this.#handOver(bytes);
      return;
    }
    const end = body.byteOffset - bytes.byteOffset + body.length;
    const request = bytes.subarray(0, end);
    if (end < bytes.length) this.#unread = bytes.subarray(end);
    this.#isBusy = true;
    const { authorization, forwardedFor, traceparent, requestId } = head;
    const facts = { remoteAddress: this.#remoteAddress, authorization, forwardedFor, traceparent, requestId };
    const identity = this.#dependencies.identify(facts);
    if (identity instanceof Promise) void this.#answerLater(identity, body, request);
    else this.#answer(identity, body, request);
  }

  /** The body of the whole request that these bytes begin with; its head is in `#lastRead` then. */
  #bodyOf(bytes: Buffer): Buffer | undefined {
    const last = this.#lastHead;
    if (last !== undefined && this.#lastRead !== undefined && bytes.length >= last.length) {
      const end = last.length + this.#lastRead.contentLengthBytes;
      if (bytes.length >= end && bytes.compare(last, 0, last.length, 0, last.length) === 0) {
        return bytes.subarray(last.length, end);
      }
    }
    const end = bytes.subarray(0, fastHeadBytes).indexOf(headEnd);
    if (end === -1) return undefined;
    const headBytes = end + headEnd.length;
    const head = readFastHead(bytes.toString("latin1", 0, headBytes));
    if (head === undefined || bytes.length < headBytes + head.contentLengthBytes) return undefined;
    if (head.contentLengthBytes > this.#dependencies.bodyBytes()) return undefined;
    if (!this.#dependencies.isAllowedHost(head.host)) return undefined;
    if (this.#lastHead === undefined) this.#socket.setTimeout(this.#dependencies.idleTimeoutMs);
    this.#lastHead = Buffer.from(bytes.subarray(0, headBytes));
    this.#lastRead = head;
    return bytes.subarray(headBytes, headBytes + head.contentLengthBytes);
  }

  async #answerLater(identity: Promise<CallerIdentity>, body: Buffer, request: Buffer): Promise<void> {
    this.#answer(await identity, body, request);
  }

  #answer(identity: CallerIdentity, body: Buffer, request: Buffer): void {
    if (this.#socket.destroyed) return;
    if (identity.kind === "refused") {
      this.#isBusy = false;
      this.#handOver(this.#unread === undefined ? request : Buffer.concat([request, this.#unread]));
      return;
    }
    const context = {
      caller: identity.caller,
      traceparent: this.#lastRead?.traceparent,
      requestId: this.#lastRead?.requestId,
    };
    const flow = this.#dependencies.handle(body, context, this.#sink);
    if (this.#isBusy) this.#flow = flow;
  }

  #finish(): void {
    this.#isBusy = false;
    this.#flow = undefined;
    if (this.#dependencies.isDraining()) this.#leave();
    else this.#goOn();
  }

  #goOn(): void {
    if (this.#unread !== undefined) this.#serve();
    if (!this.#isGone && !this.#socket.writableNeedDrain && this.#socket.isPaused()) this.#socket.resume();
  }

  /** Closes both sides when what was written is out: a client need not answer the end of a connection with its own. */
  #leave(): void {
    this.#isGone = true;
    this.#socket.setTimeout(closingMs);
    this.#socket.destroySoon();
  }

  #handOver(unread: Buffer): void {
    this.#isGone = true;
    const socket = this.#socket;
    socket.off("data", this.#receive);
    socket.off("drain", this.#drained);
    socket.off("end", this.#ended);
    socket.off("timeout", this.#timedOut);
    socket.off("error", this.#failed);
    socket.off("close", this.#closed);
    socket.setTimeout(0);
    if (socket.isPaused()) socket.resume();
    this.#dependencies.closed(this);
    this.#dependencies.handOver(socket, unread);
  }

  readonly #drained = (): void => {
    if (this.#isBusy) this.#flow?.resume();
    else this.#goOn();
  };

  readonly #ended = (): void => {
    this.#socket.end();
  };

  readonly #timedOut = (): void => {
    // While bytes are on their way out, only a client that has taken none of them lets the time pass.
    if (!this.#isBusy || this.#socket.writableNeedDrain) this.#socket.destroy();
  };

  // Followed by "close".
  readonly #failed = (): void => {
    this.#socket.destroy();
  };

  readonly #closed = (): void => {
    this.#dependencies.closed(this);
    this.#flow?.cancel();
    this.#flow = undefined;
  };
}
