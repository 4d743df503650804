import type { Socket } from "node:net";
import type { AnswerSink } from "../dispatch/answer-sink.ts";
import type { FastAnswerHeads } from "./fast-answer.ts";

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
      socket.write(joined(heads.whole(source, body.length, isDraining()), body));
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

/** One piece for one write; a copy, too, which the socket may keep. */
function joined(head: string, body: Buffer): Buffer {
  const all = Buffer.allocUnsafe(head.length + body.length);
  all.write(head, 0, "latin1");
  all.set(body, head.length);
  return all;
}
