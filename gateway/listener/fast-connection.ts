import type { Socket } from "node:net";
import type { ConnectionServer, ConnectionActivity } from "#daemon/http/connections/held-connection.ts";
import {
  badRequestResponse,
  rejectConnection,
  requestTimeoutResponse,
} from "#daemon/http/connections/rejected-connection.ts";
import { divertReads, type SocketReads } from "#daemon/http/raw-connections.ts";
import { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { CallerIdentity } from "../callers/identify.ts";
import { toPeerInfo } from "../callers/request-facts.ts";
import { holdUntil } from "../responses/response-memory.ts";
import type { ResponseFlow, ResponseSink } from "../responses/response-sink.ts";
import { ClientBacklog } from "./client-backlog.ts";
import { HeldRequests } from "#daemon/memory/received-bytes.ts";
import { PendingTurn } from "../wire/shared-turns.ts";
import { createFastSink, endConnection, type FastPath, type FastResponseContext } from "./fast-response.ts";
import { FastRequests, type FastRequest } from "./fast-requests.ts";
import { formatRawRejection, httpErrors, rejectCredential } from "./http-errors.ts";

/** Max bytes buffered during a response before reading pauses, and the read size that usually means more data is pending. */
const [earlyBytes, longRead] = [65_536, 16_384];

/**
 * A client's connection on the raw socket, while it sends well-formed requests to the root path. On anything else, the connection passes to
 * node:http with its unanswered bytes. Client requests are never forwarded: the gateway writes its own to the node.
 */
export class FastConnection implements ConnectionServer {
  readonly #socket: Socket;
  readonly #path: FastPath;
  readonly #requests: FastRequests;
  readonly #address: () => string;
  readonly #sink: ResponseSink;
  readonly #reads: SocketReads;
  readonly #listeners: readonly (readonly [event: string, listener: () => void])[];
  readonly #unread: HeldRequests;
  /** Yields to other callers before this connection reads or answers more. */
  readonly #turn: PendingTurn;
  readonly #memory: ConnectionMemory;
  readonly #backlog: ClientBacklog;
  #head: FastResponseContext = { extraHeaders: "", isLast: false, mayChunk: true };
  #flow: ResponseFlow | undefined;
  #isBusy = false;
  #isServing = false;
  #hasEnded = false;
  #isGone = false;
  #hasRequested = false;
  /** Time of the last bytes received or response sent, and of the first bytes of an incomplete request. */
  #activeAtMs: number;
  #begunAtMs: number | undefined;

  constructor(socket: Socket, path: FastPath) {
    const { context } = path;
    this.#socket = socket;
    this.#path = path;
    this.#requests = new FastRequests(socket.remoteAddress ?? "", context, path.keepHead);
    this.#address = () => context.addressOf(this.#requests.facts ?? toPeerInfo(socket));
    this.#memory = new ConnectionMemory(context.memory, { address: this.#address, cut: () => socket.destroy() });
    this.#unread = new HeldRequests(this.#memory);
    this.#backlog = new ClientBacklog(socket, this.#memory);
    this.#turn = new PendingTurn(context.turns, () => this.#proceed(true));
    const currentResponse = { context: () => this.#head, finish: (isLast: boolean) => this.#finish(isLast) };
    this.#sink = createFastSink(socket, path, this.#backlog, currentResponse);
    this.#activeAtMs = context.turns.now();
    this.#listeners = [
      ["drain", () => this.#drained()],
      ["end", () => (this.#turn.isWaiting ? (this.#hasEnded = true) : this.#end())],
      ["timeout", () => socket.destroy()],
      ["error", () => socket.destroy()],
      ["close", () => this.#closed()],
    ];
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    this.#reads = divertReads(socket, (bytes) => this.#receive(bytes));
  }

  /** Returns the connection's state; unsent bytes count as a response in progress. */
  activity(): ConnectionActivity {
    const isBusy = this.#isBusy || this.#isGone || this.#backlog.isSending || this.#turn.isWaiting;
    if (!isBusy && this.#begunAtMs !== undefined) return { kind: "unfinished", sinceMs: this.#begunAtMs };
    return { kind: isBusy ? "busy" : this.#hasRequested ? "kept" : "new", sinceMs: this.#activeAtMs };
  }

  close(): void {
    if (this.#begunAtMs !== undefined) this.#leave(requestTimeoutResponse);
    else this.#backlog.afterAll(() => this.#leave());
  }

  #receive(bytes: Buffer): boolean {
    if (this.#isGone) return false;
    this.#activeAtMs = this.#path.context.turns.now();
    if (this.#isBusy && this.#head.isLast) {
      // Only line endings may follow the last request on a connection (RFC 9112, section 2.2); as in node:http, more disconnects the
      // client.
      if (!bytes.every((byte) => byte === 0x0a || byte === 0x0d)) this.#socket.destroy();
      return true;
    }
    this.#unread.borrow(bytes);
    if (!this.#backlog.isWaiting && !this.#turn.isWaiting) {
      if (!this.#isBusy) this.#serve(false);
      // A socket with much pending data is read repeatedly in one event loop tick.
      if (bytes.length >= longRead && !this.#isGone) this.#turn.waitIfOver(this.#address);
    }
    this.#unread.own();
    return this.#mayRead();
  }

  /** Serves the received requests until one waits for its response or is incomplete, or the client stops reading. */
  #serve(isOwnTurn: boolean): void {
    if (this.#isServing) return;
    this.#isServing = true;
    for (let mayBegin = isOwnTurn; this.#unread.length > 0 && this.#mayServe(); mayBegin = false) {
      if (!this.#serveNext(mayBegin)) break;
      // One request is answered on arrival; pipelined ones after it yield to other callers.
      if (this.#unread.length > 0) this.#turn.waitIfOver(this.#address);
    }
    this.#isServing = false;
    // A request over the memory limit is rejected after the previous responses are sent.
    if (!this.#unread.count() && this.#mayServe()) this.#reject(formatRawRejection(httpErrors.tooMuchHeld));
  }

  #mayServe(): boolean {
    return !this.#turn.isWaiting && !this.#isBusy && !this.#isGone && !this.#backlog.isWaiting;
  }

  #serveNext(mayBegin: boolean): boolean {
    const { context } = this.#path;
    const { bytes } = this.#unread;
    const request = context.drain.hasBegun ? "odd" : this.#requests.next(bytes);
    if (request === "partial") {
      this.#begunAtMs ??= this.#path.context.turns.now();
      return false;
    }
    this.#begunAtMs = undefined;
    this.#hasRequested = true;
    if (request === "odd") this.#hotRestart(bytes);
    else if (typeof request === "object" && "rejection" in request) this.#reject(request.rejection);
    if (typeof request === "string" || "rejection" in request) return false;
    const { origin, endsAt } = request;
    // Only the request's head identifies the caller: a proxy's connection carries many callers.
    if (!mayBegin && this.#turn.waitForTurn(() => context.addressOf(origin.facts))) return false;
    this.#requests.consumed();
    this.#unread.drop(endsAt);
    this.#isBusy = true;
    this.#head = origin.response;
    const { method } = origin;
    if (method === "POST") this.#call(request);
    else this.#send((heads) => heads.empty(method, this.#head));
    return true;
  }

  #call(request: FastRequest): void {
    const { origin, body } = request;
    const identity = origin.identity ?? this.#path.context.identify(origin.facts);
    if (!(identity instanceof Promise)) return this.#answer(identity, request);
    const late = { ...request, body: Buffer.from(body) };
    return void holdUntil(this.#memory, body.length, identity).then((known) => this.#answerLate(known, late));
  }

  /** Responds after a wait. If the response is synchronous, the next request must start only after this one's flow control is recorded. */
  #answerLate(identity: CallerIdentity, request: FastRequest): void {
    this.#isServing = true;
    this.#answer(identity, request);
    this.#isServing = false;
    if (!this.#isBusy) this.#proceed(false);
  }

  #answer(who: CallerIdentity, { origin, body }: FastRequest): void {
    if (this.#socket.destroyed) return;
    if (who.kind === "rejected") return this.#send((heads) => heads.rejection(rejectCredential(who), this.#head));
    const { traceContext, requestId } = origin.facts;
    const context = { caller: who.caller, memory: this.#memory, traceContext, requestId };
    const flow = this.#path.context.handle(body, context, this.#sink);
    if (this.#isBusy) this.#flow = flow;
  }

  #send(formatResponse: (heads: FastPath["heads"]) => string): void {
    this.#path.outbox.write(this.#socket, formatResponse(this.#path.heads));
    this.#finish(this.#head.isLast);
  }

  #finish(isLast: boolean): void {
    this.#isBusy = false;
    this.#flow = undefined;
    this.#activeAtMs = this.#path.context.turns.now();
    if (isLast || this.#path.context.drain.hasBegun) this.#backlog.afterAll(() => this.#leave());
    else this.#proceed(false);
  }

  #proceed(isOwnTurn: boolean): void {
    if (this.#isGone) return;
    if (this.#unread.length > 0) this.#serve(isOwnTurn);
    if (this.#hasEnded && !this.#isGone && !this.#turn.isWaiting) this.#end();
    if (this.#mayRead()) this.#reads.resume();
  }

  /** Whether to read more: false while the buffer for early bytes is full behind a response, or while the client isn't reading. */
  #mayRead(): boolean {
    if (this.#isBusy && this.#unread.length > earlyBytes) return false;
    return !this.#turn.isWaiting && !this.#isGone && !this.#backlog.isWaiting;
  }

  /** Closes the connection after the bytes written so far and an optional last response. */
  #leave(response?: string): void {
    this.#isGone = true;
    this.#path.outbox.after(this.#socket, (socket) => endConnection(socket, response));
  }

  #hotRestart(unread: Buffer): void {
    this.#release();
    this.#path.hotRestart(this.#socket, Buffer.from(unread));
  }

  /** Rejects a request that is not read further. */
  #reject(response: string): void {
    this.#release();
    rejectConnection(this.#socket, response);
  }

  #release(): void {
    this.#isGone = true;
    this.#path.outbox.flush();
    for (const [event, listener] of this.#listeners) this.#socket.off(event, listener);
    this.#socket.setTimeout(0);
    this.#reads.release();
    this.#memory[Symbol.dispose]();
  }

  /**
   * Closes a connection whose client has half-closed it: the rest of a partial request will never arrive. A complete request is still
   * served.
   */
  #end(): void {
    this.#path.outbox.flush();
    if (this.#begunAtMs !== undefined) this.#leave(badRequestResponse);
    else this.#backlog.afterAll(() => this.#socket.end());
  }

  #drained(): void {
    const mayCome = this.#backlog.drained();
    if (!this.#isBusy) return this.#proceed(false);
    if (mayCome) this.#flow?.resume();
    if (this.#mayRead()) this.#reads.resume();
  }

  #closed(): void {
    this.#isGone = true;
    this.#memory[Symbol.dispose]();
    this.#flow?.cancel();
    this.#flow = undefined;
  }
}
