import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { ConnectionMemory } from "#daemon/memory/connection-memory.ts";
import type { TraceContext } from "#daemon/http/request-trace.ts";
import type { Caller } from "../../callers/identify.ts";
import { ClientBacklog } from "../client-backlog.ts";
import { Corks } from "../../wire/outbox.ts";
import type { ListenerContext } from "../listener-context.ts";
import type { Notification } from "../../notifications/notification.ts";
import { isOneFrame, encodeTextFrames, writeTextFrame } from "./text-frame.ts";

export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** The socket's TCP connection, for shared messages; the socket's own messages are written whole and at once. */
  connection: Socket;
  caller: Caller;
  memory: ConnectionMemory;
  /** Trace context of the upgrade request: calls on the connection are part of that trace. */
  traceContext: TraceContext | undefined;
}>;

/** Close code for a client that may retry later (IANA WebSocket close code registry). */
export const tryAgainLaterCode = 1013;
/** How long a client may take to read its backlog and answer the close frame. */
const closeGraceMs = 1_000;

/** Closes a WebSocket, whether or not its client reads and answers the close frame. */
export function closeSoon(socket: WebSocket, code: number, reason: string): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.close(code, reason);
  terminateSoon(socket);
}

/** Terminates a closing WebSocket once its client had time to read the close frame. */
export function terminateSoon(socket: WebSocket): void {
  setTimeout(() => socket.terminate(), closeGraceMs).unref();
}

/** Max length of a response that is written to its client together with others: for a short response, most of the cost is the write. */
const corkedBytes = 4_096;
const corks = new Corks();

/**
 * Sends to a client, and drops the client if its unsent data exceeds `queueBytes`. Responses do not count, however long they are: while any
 * are waiting, no more calls are read. Anything sent to a closed or closing client is discarded.
 */
export class ClientSender {
  readonly #client: Pick<ConnectedClient, "socket" | "connection">;
  readonly #queueBytes: number;
  readonly #context: Pick<ListenerContext, "policy" | "dropped">;
  readonly #backlog: ClientBacklog;
  /** Number of response bytes since the queue was last empty: at least the number still waiting. */
  #answered = 0;

  constructor(
    client: Pick<ConnectedClient, "socket" | "connection" | "memory">,
    queueBytes: number,
    context: Pick<ListenerContext, "policy" | "dropped">,
  ) {
    this.#client = client;
    this.#queueBytes = queueBytes;
    this.#context = context;
    this.#backlog = new ClientBacklog(client.connection, client.memory);
  }

  /** Number of bytes that the client has not read yet. */
  get unsentBytes(): number {
    return this.#client.connection.writableLength + this.#backlog.bytes;
  }

  /** Sends a response: a binary string, or parts, which are not framed until the client reads. */
  send(reply: string | readonly Buffer[]): void {
    if (!this.#begin()) return;
    const parts = typeof reply === "string" ? [Buffer.from(reply, "latin1")] : reply;
    for (const { length } of parts) this.#answered += length;
    if (reply.length <= corkedBytes && typeof reply === "string") corks.add(this.#client.connection);
    this.#write(parts);
  }

  /** Sends a notification after the bytes that contain its subscription id. */
  sendNotification(start: Buffer, { tail }: Notification): void {
    if (!this.#begin()) return;
    if (this.#backlog.isWaiting || !isOneFrame(start.length + tail.length)) this.#write([Buffer.concat([start, tail])]);
    else {
      writeTextFrame(this.#client.connection, start, tail);
      this.#dropIfSlow(true);
    }
  }

  drained(): void {
    this.#backlog.drained();
  }

  /** Calls `run` once all data is written. */
  afterAll(run: () => void): void {
    this.#backlog.afterAll(run);
  }

  #begin(): boolean {
    const { socket } = this.#client;
    if (socket.readyState !== socket.OPEN) return false;
    if (this.unsentBytes === 0) this.#answered = 0;
    return true;
  }

  #write(parts: readonly Buffer[]): void {
    let isWithin = true;
    for (const { head, bytes } of encodeTextFrames(parts)) isWithin = this.#backlog.write(bytes, head);
    this.#dropIfSlow(isWithin);
  }

  #dropIfSlow(isWithin: boolean): void {
    const { policy, dropped } = this.#context;
    const excess = this.unsentBytes - this.#queueBytes;
    // A single response of any permitted size may exceed the limit.
    const isTooMuch = excess > 0 && excess > Math.min(this.#answered, policy().settings.limits.batchResponseBytes);
    if (isWithin && !isTooMuch) return;
    dropped("slow");
    closeSoon(this.#client.socket, tryAgainLaterCode, "too slow");
  }
}
