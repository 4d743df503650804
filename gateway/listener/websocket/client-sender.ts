import type { ClientBytes } from "#daemon/memory/connection-memory.ts";
import { ClientBacklog } from "../../wire/client-backlog.ts";
import { createCorks } from "../../wire/outbox.ts";
import type { ConnectedClient } from "./connected-client.ts";
import type { Notification } from "../../notifications/notification.ts";
import { isOneFrame, encodeTextFrames, writeTextFrame } from "./text-frame.ts";

/** Bounds of what waits for a client to take it. */
export type ClientSenderOptions = Readonly<{
  /** Unsent bytes, besides answers, from which the client is too slow. */
  queueBytes: number;
  /** Unsent bytes of answers that do not count as slowness: one of any size that is permitted. */
  answerBytes: () => number;
}>;

export type ClientSenderDependencies = Readonly<{
  /** Memory of the client's connection. */
  memory: ClientBytes;
  droppedAsSlow: () => void;
}>;

/** Sends to one client. Everything that is sent to a client that is closed, or about to be, is discarded. */
export type ClientSender = Readonly<{
  /** Sends an answer: a binary string, or its parts, of which no frame is made for a client that takes nothing. */
  send: (answer: string | readonly Buffer[]) => void;
  sendNotification: (start: Buffer, notification: Notification) => void;
  /** Returns the number of bytes that the client has not taken. */
  unsentBytes: () => number;
  /** Notes that the connection can take more. */
  drained: () => void;
  /** Runs something once all is written. */
  afterAll: (run: () => void) => void;
}>;

/** Close code of a client that may come back later (IANA's registry of WebSocket close codes). */
const tryAgainLater = 1013;
/** Time in which a slow client may still take its backlog and the close that follows it. */
const slowGraceMs = 1_000;
/** Longest answer that is written together with others to its client: a write is most of the cost of a short one. */
const corkedBytes = 4_096;
const corks = createCorks();

/**
 * Creates the sender of a client, which is dropped if more waits for it than may. An answer that it requested does not count as
 * slowness, however long it is: as long as answers wait no more calls are read.
 */
export function createClientSender(
  { socket, connection }: Pick<ConnectedClient, "socket" | "connection">,
  { queueBytes, answerBytes }: ClientSenderOptions,
  { memory, droppedAsSlow }: ClientSenderDependencies,
): ClientSender {
  const backlog = new ClientBacklog(connection, memory);
  /** Bytes of answers since nothing waited: at least as many as those that still wait. */
  let answered = 0;
  const unsentBytes = () => connection.writableLength + backlog.bytes;
  const drop = () => {
    droppedAsSlow();
    socket.close(tryAgainLater, "too slow");
    // Its backlog may keep the close from ever getting through.
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
