import type { ClientBytes } from "#daemon/memory/connection-memory.ts";
import { ClientBacklog } from "../../wire/client-backlog.ts";
import { Corks } from "../../wire/outbox.ts";
import type { ConnectedClient } from "./connected-client.ts";
import type { Notification } from "../../notifications/notification.ts";
import { isOneFrame, encodeTextFrames, writeTextFrame } from "./text-frame.ts";

/** Limits on a client's unsent data. */
export type ClientSenderOptions = Readonly<{
  /** Unsent bytes, excluding responses, at which the client counts as slow. */
  queueBytes: number;
  /** Returns the number of unsent response bytes that do not count as slowness: one response of any permitted size. */
  answerBytes: () => number;
}>;

export type ClientSenderDependencies = Readonly<{
  /** Memory of the client's connection. */
  memory: ClientBytes;
  droppedAsSlow: () => void;
}>;

/** Sends to one client. Anything sent to a closed or closing client is discarded. */
export type ClientSender = Readonly<{
  /** Sends a response: a binary string, or parts, which are not framed until the client reads. */
  send: (answer: string | readonly Buffer[]) => void;
  sendNotification: (start: Buffer, notification: Notification) => void;
  /** Returns the number of bytes that the client has not read yet. */
  unsentBytes: () => number;
  /** Records that the connection is writable again. */
  drained: () => void;
  /** Calls `run` once all data is written. */
  afterAll: (run: () => void) => void;
}>;

/** Close code for a client that may retry later (IANA WebSocket close code registry). */
const tryAgainLater = 1013;
/** How long a slow client may take to read its backlog and the close frame that follows. */
const slowGraceMs = 1_000;
/** Max length of a response that is written to its client together with others: for a short response, the write is most of the cost. */
const corkedBytes = 4_096;
const corks = new Corks();

/**
 * Creates the sender for a client, which drops the client if its unsent data exceeds the limit. A requested response does not count as
 * slowness, however long it is: while responses are waiting, no more calls are read.
 */
export function createClientSender(
  { socket, connection }: Pick<ConnectedClient, "socket" | "connection">,
  { queueBytes, answerBytes }: ClientSenderOptions,
  { memory, droppedAsSlow }: ClientSenderDependencies,
): ClientSender {
  const backlog = new ClientBacklog(connection, memory);
  /** Number of response bytes since the queue was last empty: at least as many as are still waiting. */
  let answered = 0;
  const unsentBytes = () => connection.writableLength + backlog.bytes;
  const drop = () => {
    droppedAsSlow();
    socket.close(tryAgainLater, "too slow");
    // The client's backlog may block the close frame forever.
    setTimeout(() => socket.terminate(), slowGraceMs).unref();
  };
  const dropIfSlow = (isWithin: boolean) => {
    const unsent = unsentBytes();
    const isTooMuch = unsent > queueBytes && unsent > queueBytes + Math.min(answered, answerBytes());
    if (isTooMuch || !isWithin) drop();
  };
  const write = (parts: readonly Buffer[]) => {
    let isWithin = true;
    for (const { head, bytes } of encodeTextFrames(parts)) isWithin = backlog.write(bytes, head);
    dropIfSlow(isWithin);
  };
  return {
    send: (answer) => {
      if (socket.readyState !== socket.OPEN) return;
      const parts = typeof answer === "string" ? [Buffer.from(answer, "latin1")] : answer;
      if (unsentBytes() === 0) answered = 0;
      for (const { length } of parts) answered += length;
      if (answer.length <= corkedBytes && typeof answer === "string") corks.add(connection);
      write(parts);
    },
    sendNotification: (start, { tail }) => {
      if (socket.readyState !== socket.OPEN) return;
      if (unsentBytes() === 0) answered = 0;
      if (backlog.isWaiting || !isOneFrame(start.length + tail.length)) write([Buffer.concat([start, tail])]);
      else {
        writeTextFrame(connection, start, tail);
        dropIfSlow(true);
      }
    },
    unsentBytes,
    drained: () => void backlog.drained(),
    afterAll: (run) => backlog.afterAll(run),
  };
}
