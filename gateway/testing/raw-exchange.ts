import { connect } from "node:net";

/** Bytes to send on a connection, one item per write. */
export type Stream = readonly Buffer[];

/**
 * Sends pieces over a raw connection, one after another, without half-closing it. Collects the output, with dates blanked out, until the
 * peer closes or is silent: for `quietMs` after `expected` responses, or for `giveUpMs` after fewer.
 */
export function sendRaw(
  url: string,
  pieces: Stream,
  { expected, quietMs, giveUpMs = 1_500 }: Readonly<{ expected: number; quietMs: number; giveUpMs?: number }>,
): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let text = "";
    let timer = setTimeout(() => socket.destroy(), giveUpMs);
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text.replaceAll(/Date: [^\r]*/g, "Date: -"));
    };
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString("latin1");
      if (text.split("HTTP/1.1 ").length - 1 < expected) return;
      clearTimeout(timer);
      timer = setTimeout(finish, quietMs);
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", finish);
    socket.on("connect", () => void sendAll(pieces));
    const sendAll = async (all: Stream) => {
      for (const piece of all) {
        if (socket.destroyed) return;
        await new Promise((sent) => socket.write(piece, sent));
        await new Promise((turn) => setImmediate(turn));
      }
    };
  });
}
