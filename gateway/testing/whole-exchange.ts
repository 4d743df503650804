import { connect, type Socket } from "node:net";
import type { Stream } from "./raw-exchange.ts";

/** Peer in an exchange, and how to detect the end of the exchange. */
export type WholeExchangeOptions = Readonly<{
  url: string;
  /** A request sent once the pieces have been answered or the peer is silent. */
  last: Buffer;
  /** End of the response to `last`; no other response may have the same end. */
  lastResponse: string;
  /** Number of responses to wait for before `last` is sent. */
  expected: number;
  /** Silence after which `last` is sent, and the additional silence after which the connection is closed. */
  quietMs: number;
  /** Number of event loop ticks between two pieces, during which a peer in this process reads the first piece and its response arrives. */
  turnsBetween: number;
}>;

/**
 * Number of steps that make up a silence. If this process stalls, only one step passes before it reads its sockets again, so a response
 * still has the other steps to arrive.
 */
const quietSteps = 12;

/** Time after which an exchange counts as hung. */
const exchangeMs = 60_000;

/**
 * Sends pieces, then `last`, then the end of the connection. Resolves with everything received until the peer closed or responded to
 * `last`, with dates blanked out. Resolves with undefined if the peer closed before a piece was sent, because the operating system may then
 * have discarded responses.
 */
export function sendWhole(pieces: Stream, options: WholeExchangeOptions): Promise<string | undefined> {
  const { hostname, port } = new URL(options.url);
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
  const state = { text: "", step: "pieces" as "pieces" | "answers" | "last" | "end", isCutShort: false };
  let quiet: NodeJS.Timeout | undefined;

  const sendNext = () => {
    if (state.step === "answers") {
      state.step = "last";
      socket.write(options.last);
      wait();
    } else if (state.step === "last") {
      state.step = "end";
      socket.end();
    }
  };
  const wait = () => {
    const lengthBefore = state.text.length;
    let steps = 0;
    clearTimeout(quiet);
    const step = () => {
      quiet = setTimeout(() => setImmediate(checkQuiet), options.quietMs / quietSteps);
    };
    const checkQuiet = () => {
      if (state.text.length !== lengthBefore) return wait();
      steps += 1;
      return steps < quietSteps ? step() : sendNext();
    };
    step();
  };
  const late = setTimeout(() => {
    reject(new Error(`the peer neither answered nor closed within ${exchangeMs} ms; ${JSON.stringify(state)}`));
    socket.destroy();
  }, exchangeMs);
  socket.on("data", (bytes: Buffer) => {
    state.text += bytes.toString("latin1");
    if (state.text.endsWith(options.lastResponse)) socket.destroy();
    else if (state.step === "answers" && hasResponses(state.text, options.expected)) sendNext();
  });
  socket.on("end", () => socket.destroy());
  socket.on("error", (error: NodeJS.ErrnoException) => {
    state.isCutShort ||= error.syscall !== "read";
  });
  socket.on("close", () => {
    clearTimeout(late);
    clearTimeout(quiet);
    resolve(state.isCutShort ? undefined : state.text.replaceAll(/Date: [^\r]*/g, "Date: -"));
  });
  socket.on("connect", async () => {
    await sendAll(socket, pieces, options.turnsBetween);
    if (socket.destroyed) return;
    state.step = "answers";
    if (hasResponses(state.text, options.expected)) sendNext();
    else wait();
  });
  return promise;
}

function hasResponses(text: string, expected: number): boolean {
  return text.split("HTTP/1.1 ").length > expected;
}

async function sendAll(socket: Socket, pieces: Stream, turnsBetween: number): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    for (let turns = 0; turns < turnsBetween; turns += 1) await new Promise((turn) => setImmediate(turn));
  }
}
