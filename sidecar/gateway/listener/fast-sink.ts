import type { Socket } from "node:net";
import type { AnswerSink } from "../dispatch/answer-sink.ts";
import type { FastAnswerHeads } from "./fast-answer.ts";

/** Answers up to this size go out in one piece with their head. */
const joinedBytes = 16_384;

/** What a fast connection's answers are written with. */
export type FastSinkDependencies = Readonly<{
  heads: FastAnswerHeads;
  isDraining: () => boolean;
  /** Told when an answer is written to its end. */
  finish: () => void;
}>;

/** Writes one connection's answers, one after another, to the raw socket. */
export function makeFastSink(socket: Socket, { heads, isDraining, finish }: FastSinkDependencies): AnswerSink {
  let isChunked = false;
  return {
    text: (json, source) => {
      socket.write(heads.whole(source, json.length, isDraining()) + json, "latin1");
      finish();
    },
    bytes: (body, source) => {
      const head = heads.whole(source, body.length, isDraining());
      if (body.length <= joinedBytes) socket.write(joined(head, body));
      else {
        socket.cork();
        socket.write(head, "latin1");
        socket.write(body);
        socket.uncork();
      }
      finish();
    },
    refused: (json, retryAfterSeconds) => {
      socket.write(heads.refused(retryAfterSeconds, json.length, isDraining()) + json, "latin1");
      finish();
    },
    begin: (lengthBytes, source) => {
      isChunked = lengthBytes === undefined;
      socket.write(heads.stream(source, lengthBytes, isDraining()), "latin1");
    },
    chunk: (bytes) => {
      if (!isChunked) return socket.write(bytes);
      socket.cork();
      socket.write(`${bytes.length.toString(16)}\r\n`, "latin1");
      socket.write(bytes);
      const hasRoom = socket.write("\r\n", "latin1");
      socket.uncork();
      return hasRoom;
    },
    end: () => {
      if (isChunked) socket.write("0\r\n\r\n", "latin1");
      finish();
    },
    broken: () => socket.destroy(),
  };
}

function joined(head: string, body: Buffer): Buffer {
  const all = Buffer.allocUnsafe(head.length + body.length);
  all.write(head, 0, "latin1");
  body.copy(all, head.length);
  return all;
}
