import { connect as connectTcp, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { SharedSlot } from "#daemon/fair-shares.ts";
import { buildServerName, readUrlHost, readUrlPort } from "#daemon/http/address.ts";
import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { lookupName } from "#daemon/http/name-lookup.ts";
import { formatTraceHeaders } from "#daemon/http/request-trace.ts";
import type { ResponseFailure } from "../errors.ts";
import type { PolicySource } from "../policy.ts";
import { type KeepMessageHead, TextsByLength } from "../wire/message-head.ts";
import type { Outbox } from "../wire/outbox.ts";
import { type SharedTurns, PendingTurn } from "../wire/shared-turns.ts";
import type { NodeCall } from "./node-call.ts";
import { NodeResponse, type CompleteResponse } from "./node-response.ts";

/** HTTP address of the node, and the constant parts of every request to it: its head, as binary strings, up to the end of the Content-Length line. */
export type NodeAddress = Readonly<{ secure: boolean; host: string; port: number; requestStarts: TextsByLength }>;

export function parseNodeAddress(httpUrl: string): NodeAddress {
  const url = new URL(httpUrl);
  const { Authorization: credentials } = parseHttpEndpoint(httpUrl).headers;
  const authorization = credentials === undefined ? "" : `Authorization: ${credentials}\r\n`;
  const start = `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n${authorization}Content-Type: application/json\r\nContent-Length: `;
  return {
    secure: url.protocol === "https:",
    host: readUrlHost(url),
    port: readUrlPort(url),
    requestStarts: new TextsByLength((lengthBytes) => `${start}${lengthBytes}\r\n`),
  };
}

/** Size from which a piece of a streamed body is forwarded in its own buffer; a smaller one would waste most of that buffer. */
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
  readonly #response: NodeResponse;
  #ticket: ConnectionTicket | undefined;
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
    this.#response = new NodeResponse(pool.keepHead, pool.policy, () => this.#hold());
    this.#turn = new PendingTurn(pool.turns, () => {
      if (!this.#paused) this.#socket.resume();
    });
    const { secure, host, port } = address;
    const received = (bytes: Buffer) => this.#receive(bytes);
    const socket = secure
      ? connectTls({ host, port, ...buildServerName(host), lookup: lookupName }).on("data", received)
      : connectTcp({ host, port, lookup: lookupName, onread: readInto(received) });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on(secure ? "secureConnect" : "connect", () => {
      this.#connected = true;
      if (this.#ticket !== undefined) this.#deadline = pool.deadlineIn(this.#ticket.call.timeoutMs);
    });
    socket.on("end", () => socket.destroy());
    // Every error is followed by a "close" event.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#closed());
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
    this.#response.body?.drop();
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
    if (ticket === undefined) {
      this.#socket.destroy();
      return false;
    }
    const response = this.#response;
    const isLong = bytes.length >= ownBufferBytes && response.sink !== undefined;
    const isKept = isLong && response.body?.isStreaming === true;
    const state = response.read(ticket.call, bytes, isKept);
    // The sink may have cancelled the call.
    if (this.#ticket !== ticket) return isKept;
    if (state === "more") {
      if (response.sink !== undefined) this.#deadline = this.#pool.deadlineIn(ticket.call.timeoutMs);
    } else if (typeof state === "string") this.#fail(state);
    else this.#finish(state);
    // A socket with a lot of pending data is read repeatedly in one event loop tick.
    if (isLong && this.#ticket === ticket && this.#turn.waitIfOver(() => ticket.call.caller)) this.#socket.pause();
    return isKept;
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

  #finish({ keepAlive, deliver }: CompleteResponse): void {
    this.#ticket = undefined;
    this.#response.reset();
    this.#served += 1;
    this.#proceed();
    deliver();
    if (!keepAlive) this.#socket.destroy();
    else if (!this.#socket.destroyed) this.#pool.idle(this);
  }

  #fail(failure: ResponseFailure): void {
    const sink = this.#response.sink ?? this.#ticket?.call.sink;
    this.#ticket = undefined;
    this.#response.body?.drop();
    this.#socket.destroy();
    sink?.fail(failure);
  }

  #closed(): void {
    const ticket = this.#ticket;
    const response = this.#response;
    this.#ticket = undefined;
    this.#pool.closed(this);
    if (ticket === undefined) return;
    if (response.endsWithConnection) response.body?.end();
    else if (response.sink === undefined && this.#served > 0 && ticket.call.repeatable) ticket.resend();
    else {
      response.body?.drop();
      (response.sink ?? ticket.call.sink).fail(this.#connected ? "cutAnswer" : "unavailable");
    }
  }
}

const readBytes = 65_536;

/**
 * Creates one buffer that is reused for all reads, which avoids a buffer per short response and the stream's queue. The next read overwrites
 * the received bytes unless `received` returns true, which transfers ownership to it.
 */
function readInto(received: (bytes: Buffer) => boolean): OnReadOpts {
  let buffer = Buffer.allocUnsafeSlow(readBytes);
  let isKept = false;
  return {
    buffer: () => {
      if (isKept) buffer = Buffer.allocUnsafeSlow(readBytes);
      isKept = false;
      return buffer;
    },
    callback: (length) => {
      isKept = received(buffer.subarray(0, length));
      return true;
    },
  };
}
