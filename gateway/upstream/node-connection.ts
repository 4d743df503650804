import type { ResponseFailure } from "../errors.ts";
import type { Socket } from "node:net";
import type { SharedSlot } from "#daemon/fair-shares.ts";
import { formatTraceHeaders } from "#daemon/http/request-trace.ts";
import type { KeepMessageHead } from "../wire/message-head.ts";
import { ResponseBody } from "./response-body.ts";
import { type NodeAddress, openNodeSocket } from "./node-socket.ts";
import {
  startsAsJsonRpc,
  deliverBody,
  readErrorResponse,
  errorBodyBytesMax,
  findFailure,
  createResponseHeadReader,
  type ResponseHead,
} from "./response-head.ts";
import type { ResponseSink } from "../responses/response-sink.ts";
import type { NodeCall } from "./node-call.ts";
import type { PolicySource } from "../policy.ts";
import type { Outbox } from "../wire/outbox.ts";
import { type SharedTurns, PendingTurn } from "../wire/shared-turns.ts";

const headBytes = 16_384;
/** Size from which a piece of a streamed body is forwarded in its own buffer; a smaller piece would waste most of the buffer. */
const ownBufferBytes = 16_384;

/** The part of its pool that a connection uses. */
export type ConnectionPool = Readonly<{
  connectTimeoutMs: number;
  /** Returns the deadline of a wait that starts now, on the clock that `expire` uses. */
  deadlineIn: (waitMs: number) => number;
  policy: PolicySource;
  outbox: Outbox;
  turns: SharedTurns;
  keepHead: KeepMessageHead;
  idle: (connection: NodeConnection) => void;
  closed: (connection: NodeConnection) => void;
  held: (connection: NodeConnection, isHeld: boolean) => void;
}>;

/** A call on a connection; `resend` is called if it got no response because the node had closed the keep-alive connection. */
export type ConnectionTicket = Readonly<{ call: NodeCall; resend: () => void }>;

/** One keep-alive connection to the node. It serves one call at a time and streams the response. */
export class NodeConnection implements Disposable {
  readonly #address: NodeAddress;
  readonly #pool: ConnectionPool;
  readonly #socket: Socket;
  readonly #readHead: ReturnType<typeof createResponseHeadReader>;
  #ticket: ConnectionTicket | undefined;
  #head: ResponseHead | undefined;
  /** Receiver of the current response's body, once its head was read. */
  #sink: ResponseSink | undefined;
  #body: ResponseBody | undefined;
  #held: Buffer | undefined;
  #served = 0;
  #connected = false;
  #deadline = 0;
  #paused = false;
  /** Yields to other callers before reading more of a long response. */
  readonly #turn: PendingTurn;
  /** Time when the connection became idle, in milliseconds on the pool's clock. */
  idleSince = 0;
  share: SharedSlot["share"];

  constructor(address: NodeAddress, pool: ConnectionPool) {
    this.#address = address;
    this.#pool = pool;
    this.#readHead = createResponseHeadReader(pool.keepHead);
    this.#turn = new PendingTurn(pool.turns, () => {
      if (!this.#paused) this.#socket.resume();
    });
    this.#socket = openNodeSocket(address, {
      connected: () => {
        this.#connected = true;
        if (this.#ticket !== undefined) this.#deadline = pool.deadlineIn(this.#ticket.call.timeoutMs);
      },
      received: (bytes) => this.#receive(bytes),
      closed: () => this.#closed(),
    });
  }

  send(ticket: ConnectionTicket): void {
    const { requestStarts } = this.#address;
    const { call } = ticket;
    const trace = call.traceContext === undefined ? "" : formatTraceHeaders(call.traceContext);
    this.#ticket = ticket;
    this.#deadline = this.#pool.deadlineIn(this.#connected ? call.timeoutMs : this.#pool.connectTimeoutMs);
    // Reads the body only once, because a batch joins its parts on each access.
    const { body } = call;
    this.#pool.outbox.write(this.#socket, `${requestStarts.of(body.length)}${trace}\r\n${body}`);
  }

  resume(ticket: ConnectionTicket): void {
    if (this.#ticket !== ticket || !this.#paused) return;
    this.#deadline = this.#pool.deadlineIn(ticket.call.timeoutMs);
    this.#proceed();
  }

  get caller(): string {
    return this.#ticket?.call.caller ?? "";
  }

  /** Aborts a call whose client does not read the response while other calls need the connection. */
  cut(): void {
    this.#fail("slowReader");
  }

  /** Cancels a call. Its response would still arrive on this connection, so the connection is closed, too. */
  cancel(ticket: ConnectionTicket): void {
    if (this.#ticket !== ticket) return;
    this.#ticket = undefined;
    this.#body?.drop();
    this.#socket.destroy();
  }

  /** Ends a call that is past its deadline, either because the node is silent or because the client does not read. */
  expire(now: number): void {
    if (this.#ticket === undefined || now < this.#deadline) return;
    this.#fail(this.#connected ? "timeout" : "unavailable");
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): boolean {
    const ticket = this.#ticket;
    const body = this.#body;
    if (ticket === undefined) this.#socket.destroy();
    else if (this.#head === undefined) this.#receiveHead(ticket, bytes);
    else if (body !== undefined) {
      const isLong = bytes.length >= ownBufferBytes;
      const isKept = isLong && body.isStreaming;
      this.#receiveBody(ticket, this.#head, body, bytes, isKept);
      // A socket with a lot of pending data is read repeatedly in one event loop tick.
      if (isLong && this.#ticket === ticket && this.#turn.waitIfOver(() => ticket.call.caller)) this.#socket.pause();
      return isKept;
    }
    return false;
  }

  #receiveHead(ticket: ConnectionTicket, bytes: Buffer): void {
    const all = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes]);
    const read = this.#readHead(all);
    if (read === "unfinished") {
      if (all.length > headBytes) this.#fail("badAnswer");
      this.#held = Buffer.from(all);
      return;
    }
    this.#held = undefined;
    if (read === "bad") {
      this.#fail("badAnswer");
      return;
    }
    const { head, bodyAt } = read;
    const body = all.subarray(bodyAt);
    if (head.status < 200) {
      if (body.length > 0) this.#receiveHead(ticket, body);
      return;
    }
    const { responseBytes } = this.#pool.policy().settings.limits;
    const failure = findFailure(head, responseBytes);
    const sink = failure === undefined ? ticket.call.sink : readErrorResponse(ticket.call, head, failure);
    if (sink === undefined) {
      this.#fail(failure ?? "badAnswer");
      return;
    }
    this.#head = head;
    this.#sink = sink;
    const { id } = ticket.call;
    if (head.lengthBytes === body.length) {
      const isAnswer = failure !== undefined || startsAsJsonRpc(body);
      this.#finish(head, () => (isAnswer ? deliverBody(body, { id, sink }) : sink.fail("badAnswer")));
      return;
    }
    const limitBytes = failure === undefined ? responseBytes : errorBodyBytesMax;
    const mayBegin = failure === undefined ? startsAsJsonRpc : undefined;
    this.#body = new ResponseBody(head, limitBytes, { id, sink, mayBegin, hold: () => this.#hold() });
    this.#receiveBody(ticket, head, this.#body, body, false);
  }

  #receiveBody(ticket: ConnectionTicket, head: ResponseHead, body: ResponseBody, bytes: Buffer, isKept: boolean): void {
    this.#deadline = this.#pool.deadlineIn(ticket.call.timeoutMs);
    const state = body.read(bytes, isKept);
    if (this.#ticket !== ticket) return;
    if (state === "done") this.#finish(head, () => body.end());
    else if (state !== "more") this.#fail(state);
  }

  #hold(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
    this.#pool.held(this, true);
  }

  #proceed(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#turn.isWaiting) this.#socket.resume();
    this.#pool.held(this, false);
  }

  #finish(head: ResponseHead, notify: () => void): void {
    this.#ticket = undefined;
    this.#head = undefined;
    this.#sink = undefined;
    this.#body = undefined;
    this.#served += 1;
    this.#proceed();
    notify();
    if (!head.keepAlive) this.#socket.destroy();
    else if (!this.#socket.destroyed) this.#pool.idle(this);
  }

  #fail(failure: ResponseFailure): void {
    const sink = this.#sink ?? this.#ticket?.call.sink;
    this.#ticket = undefined;
    this.#body?.drop();
    this.#socket.destroy();
    sink?.fail(failure);
  }

  #closed(): void {
    const ticket = this.#ticket;
    const head = this.#head;
    this.#ticket = undefined;
    this.#pool.closed(this);
    if (ticket === undefined) return;
    if (head !== undefined && head.lengthBytes === undefined && !head.chunked) this.#body?.end();
    else if (head === undefined && this.#served > 0 && ticket.call.repeatable) ticket.resend();
    else {
      this.#body?.drop();
      (this.#sink ?? ticket.call.sink).fail(this.#connected ? "cutAnswer" : "unavailable");
    }
  }
}
