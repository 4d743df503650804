import type { Socket } from "node:net";

/** Texts that wait at most, and their length together; beyond either they are written at once. */
const waitingTexts = 128;
const waitingBytes = 262_144;

/**
 * Short texts on their way to sockets. They are written together once the event loop has read what had come, not one after each
 * read: a write wakes its receiver, which costs more than the write itself when the receiver has just gone to sleep again, and
 * what reads and what writes stay in the processor's caches. A text alone goes out in the same turn of the loop.
 */
export type Outbox = Readonly<{
  /** Writes a binary string; in the order of calls. */
  write: (socket: Socket, text: string) => void;
  /** Writes what waits, at once: before a socket is written to, ended or given away by other means. */
  flush: () => void;
}>;

/** Makes an empty outbox. */
export function makeOutbox(): Outbox {
  const sockets: Socket[] = [];
  const texts: string[] = [];
  let bytes = 0;
  let isArmed = false;

  const flush = () => {
    for (let at = 0; at < sockets.length; at += 1) sockets[at]?.write(texts[at] ?? "", "latin1");
    sockets.length = 0;
    texts.length = 0;
    bytes = 0;
  };
  const atTurnsEnd = () => {
    isArmed = false;
    flush();
  };
  return {
    write: (socket, text) => {
      sockets.push(socket);
      texts.push(text);
      bytes += text.length;
      if (sockets.length >= waitingTexts || bytes >= waitingBytes) flush();
      else if (!isArmed) {
        isArmed = true;
        setImmediate(atTurnsEnd);
      }
    },
    flush,
  };
}
