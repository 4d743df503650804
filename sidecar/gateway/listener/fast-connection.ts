import type { Socket } from "node:net";
import type { CallerIdentity } from "../callers/caller.ts";
import type { Identify } from "../callers/identify.ts";
import type { AnswerFlow, AnswerSink } from "../dispatch/answer-sink.ts";
import type { MessageHandler } from "../dispatch/message-handler.ts";
import type { Outbox } from "../wire/outbox.ts";
import type { FastAnswerHeads } from "./fast-answer.ts";
import { readFastRequests, type FastRequestRules, type FastRequests } from "./fast-requests.ts";
import { makeFastSink } from "./fast-sink.ts";
import type { RequestFacts } from "./request-facts.ts";
import { takeReads, type SocketReads } from "./socket-reads.ts";

/** Bytes that may come while an answer is under way before the connection is no longer read. */
const earlyBytes = 65_536;
/** Time in which a new connection has to send its first bytes, as node:http has it. */
const firstBytesMs = 10_000;
/** Time without progress after which a connection that is being closed is no longer waited for. */
const closingMs = 1_000;

/** How long a fast connection waits for its client. */
export type FastConnectionWaits = Readonly<{ idleTimeoutMs: number; slowReaderTimeoutMs: number }>;

/** What a fast connection answers with. */
export type FastConnectionDependencies = FastRequestRules &
  Readonly<{
    heads: FastAnswerHeads;
    outbox: Outbox;
    identify: Identify;
    handle: MessageHandler;
    isDraining: () => boolean;
    waits: FastConnectionWaits;
    /** Milliseconds of a clock that goes on when `expire` is about to be called. */
    clock: () => number;
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
  readonly #requests: FastRequests;
  readonly #sink: AnswerSink;
  readonly #reads: SocketReads;
  readonly #listeners: readonly (readonly [event: string, listener: () => void])[];
  #isBusy = false;
  #flow: AnswerFlow | undefined;
  /** What was read and is not answered: whole requests that came at once, or the start of one while an answer is under way. */
  #unread: Buffer | undefined;
  #isServing = false;
  #isGone = false;
  /** Whether the socket's own timer watches a client that does not take what was written. */
  #isWatched = false;
  #activeAt: number;
  #patienceMs: number;

  constructor(socket: Socket, dependencies: FastConnectionDependencies) {
    const { heads, outbox, isDraining, waits, clock } = dependencies;
    this.#socket = socket;
    this.#dependencies = dependencies;
    this.#requests = readFastRequests(socket.remoteAddress ?? "", dependencies);
    this.#sink = makeFastSink(socket, { heads, outbox, isDraining, finish: () => this.#finish() });
    this.#activeAt = clock();
    this.#patienceMs = Math.min(firstBytesMs, waits.idleTimeoutMs);
    this.#listeners = [
      ["drain", () => this.#drained()],
      ["end", () => this.#end()],
      ["timeout", () => socket.destroy()],
      // Followed by "close".
      ["error", () => socket.destroy()],
      ["close", () => this.#closed()],
    ];
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    this.#reads = takeReads(socket, (bytes) => this.#receive(bytes));
  }

  /** Ends the connection unless an answer is under way, which ends it itself while the listener drains. */
  closeIfIdle(): void {
    if (!this.#isBusy) this.#leave();
  }

  /**
   * Ends the connection when it has been idle for too long. A client that has to take what was written before it is served
   * further gets the socket's own timer, which starts anew whenever some of it is taken.
   */
  expire(now: number): void {
    if (this.#socket.writableNeedDrain) {
      if (this.#isWatched || this.#isGone) return;
      this.#isWatched = true;
      this.#socket.setTimeout(this.#dependencies.waits.slowReaderTimeoutMs);
    } else if (!this.#isBusy && now - this.#activeAt > this.#patienceMs) this.#socket.destroy();
  }

  /** Answers whether more may come. */
  #receive(bytes: Buffer): boolean {
    this.#activeAt = this.#dependencies.clock();
    this.#unread = this.#unread === undefined ? bytes : Buffer.concat([this.#unread, bytes]);
    if (this.#isBusy) return this.#unread.length <= earlyBytes;
    if (this.#socket.writableNeedDrain) return false;
    this.#serve();
    return true;
  }

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
    const { identify, isDraining, waits } = this.#dependencies;
    const body = isDraining() ? undefined : this.#requests.bodyOf(bytes);
    const facts = this.#requests.facts();
    if (body === undefined || facts === undefined) {
      this.#handOver(bytes);
      return;
    }
    const end = body.byteOffset - bytes.byteOffset + body.length;
    if (end < bytes.length) this.#unread = bytes.subarray(end);
    this.#isBusy = true;
    this.#patienceMs = waits.idleTimeoutMs;
    const identity = identify(facts);
    if (identity instanceof Promise) void identity.then((known) => this.#answer(known, facts, body, bytes));
    else this.#answer(identity, facts, body, bytes);
  }

  /** `read` begins with the request. */
  #answer(identity: CallerIdentity, facts: RequestFacts, body: Buffer, read: Buffer): void {
    if (this.#socket.destroyed) return;
    if (identity.kind === "refused") {
      this.#isBusy = false;
      const request = read.subarray(0, body.byteOffset - read.byteOffset + body.length);
      this.#handOver(this.#unread === undefined ? request : Buffer.concat([request, this.#unread]));
      return;
    }
    const { traceContext, requestId } = facts;
    const flow = this.#dependencies.handle(body, { caller: identity.caller, traceContext, requestId }, this.#sink);
    if (this.#isBusy) this.#flow = flow;
  }

  #finish(): void {
    this.#isBusy = false;
    this.#flow = undefined;
    this.#activeAt = this.#dependencies.clock();
    if (this.#dependencies.isDraining()) this.#leave();
    else this.#goOn();
  }

  #goOn(): void {
    if (this.#unread !== undefined) this.#serve();
    if (!this.#isGone && !this.#socket.writableNeedDrain) this.#reads.resume();
  }

  /** Closes both sides when what was written is out: a client need not answer the end of a connection with its own. */
  #leave(): void {
    this.#isGone = true;
    this.#dependencies.outbox.flush();
    this.#socket.setTimeout(closingMs);
    this.#socket.destroySoon();
  }

  #handOver(unread: Buffer): void {
    this.#isGone = true;
    const socket = this.#socket;
    this.#dependencies.outbox.flush();
    for (const [event, listener] of this.#listeners) socket.off(event, listener);
    socket.setTimeout(0);
    this.#reads.release();
    this.#dependencies.closed(this);
    this.#dependencies.handOver(socket, unread);
  }

  #end(): void {
    this.#dependencies.outbox.flush();
    this.#socket.end();
  }

  #drained(): void {
    if (this.#isWatched && !this.#isGone) this.#socket.setTimeout(0);
    this.#isWatched = false;
    if (this.#isBusy) this.#flow?.resume();
    else this.#goOn();
  }

  #closed(): void {
    this.#dependencies.closed(this);
    this.#flow?.cancel();
    this.#flow = undefined;
  }
}
