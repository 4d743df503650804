import type { Socket } from "node:net";
import type { ResponseSink } from "../answers/answer-sink.ts";
import type { ClientBacklog } from "../wire/client-backlog.ts";
import { outboxBytes, type Outbox } from "../wire/outbox.ts";
import type { FastResponseContext, FastResponseHeads } from "./fast-answer.ts";

const chunkEnd = Buffer.from("\r\n");
const lastChunk = Buffer.from("0\r\n\r\n");

export type FastSinkDependencies = Readonly<{
  heads: FastResponseHeads;
  outbox: Outbox;
  backlog: ClientBacklog;
  /** Context of the current request. */
  context: () => FastResponseContext;
  /** Called when a response is completely written; `isLast` says whether the connection closes after it. */
  finish: (isLast: boolean) => void;
}>;

/** Writes one connection's responses, one after another, to the raw socket. */
export function createFastSink(
  socket: Socket,
  { heads, outbox, backlog, context, finish }: FastSinkDependencies,
): ResponseSink {
  let isChunked = false;
  let isLast = false;
  return {
    text: (json, source, retryAfterSeconds) => {
      const given = context();
      const head =
        retryAfterSeconds === undefined
          ? heads.whole(source, json.length, given)
          : heads.refused(retryAfterSeconds, json.length, given);
      if (head.length + json.length <= outboxBytes) outbox.write(socket, head + json);
      else {
        outbox.flush();
        backlog.write(Buffer.from(head + json, "latin1"));
      }
      finish(given.isLast);
    },
    bytes: (body, source) => {
      const given = context();
      const head = heads.whole(source, body.length, given);
      if (head.length + body.length <= outboxBytes) outbox.writeBytes(socket, head, body);
      else {
        outbox.flush();
        const whole = joinAnswer(outbox.scratch.acquire(head.length + body.length), head, body);
        backlog.write(whole);
        // Bytes that the client has not accepted yet stay in this buffer.
        if (!backlog.isWaiting && socket.writableLength === 0) outbox.scratch.release(whole);
      }
      finish(given.isLast);
    },
    begin: (lengthBytes, source) => {
      const given = context();
      isChunked = lengthBytes === undefined && given.mayChunk;
      isLast = given.isLast || (lengthBytes === undefined && !given.mayChunk);
      outbox.flush();
      socket.write(heads.stream(source, lengthBytes, given), "latin1");
    },
    chunk: (bytes) => {
      if (!isChunked) return backlog.write(bytes);
      socket.cork();
      backlog.write(Buffer.from(`${bytes.length.toString(16)}\r\n`, "latin1"));
      backlog.write(bytes);
      const hasRoom = backlog.write(chunkEnd);
      socket.uncork();
      return hasRoom;
    },
    end: () => {
      if (isChunked) backlog.write(lastChunk);
      finish(isLast);
    },
    fail: () => socket.destroy(),
  };
}

/** Joins head and body into one buffer for a single write. */
function joinAnswer(all: Buffer, head: string, body: Buffer): Buffer {
  all.write(head, 0, "latin1");
  all.set(body, head.length);
  return all;
}
