import { connect, type Socket } from "node:net";
import type { Stream } from "./raw-exchange.ts";

/** Peer of an exchange, and the signs that it is over. */
export type WholeExchangeOptions = Readonly<{
  url: string;
  /** A request that is sent when the pieces are answered or the peer is silent. */
  last: Buffer;
  /** End of the answer to `last`; nothing else may end like it. */
  lastAnswer: string;
  /** Answers to wait for before `last` is sent. */
  expected: number;
  /** Silence after which `last` is sent, and once more the end of the connection. */
  quietMs: number;
  /** Turns of the event loop between two pieces, in which a peer in this process reads the first and its answer comes. */
  turnsBetween: number;
}>;

/**
 * Steps of which a silence is made: if this process stands still for a while, only one of them passes before the sockets are read again, and
 * an answer on its way through client, gateway and node has the rest.
 */
const quietSteps = 12;

/** Longest that an exchange takes; one that is not over by then has hung. */
const exchangeMs = 60_000;

/**
 * Sends pieces, then `last`, then the end of the connection, and resolves with everything that came until the peer closed or had
 * answered `last`. Dates are blanked. Undefined if the peer had closed before a piece was sent: the system may then have
 * discarded answers, so that nothing can be said of them.
 */
export function sendWhole(pieces: Stream, options: WholeExchangeOptions): Promise<string | undefined> {
  const { hostname, port } = new URL(options.url);
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
  const state = { text: "", step: "pieces" as "pieces" | "answers" | "last" | "end", isCutShort: false };
  let quiet: NodeJS.Timeout | undefined;

  const goOn = () => {
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
    const before = state.text.length;
    let steps = 0;
    clearTimeout(quiet);
    const step = () => {
      quiet = setTimeout(() => setImmediate(look), options.quietMs / quietSteps);
    };
    const look = () => {
      if (state.text.length !== before) return wait();
      steps += 1;
      return steps < quietSteps ? step() : goOn();
    };
    step();
  };
  const late = setTimeout(() => {
    reject(new Error(`the peer neither answered nor closed within ${exchangeMs} ms; ${JSON.stringify(state)}`));
    socket.destroy();
  }, exchangeMs);
  socket.on("data", (bytes: Buffer) => {
    state.text += bytes.toString("latin1");
    if (state.text.endsWith(options.lastAnswer)) socket.destroy();
    else if (state.step === "answers" && hasAnswers(state.text, options.expected)) goOn();
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
    if (hasAnswers(state.text, options.expected)) goOn();
    else wait();
  });
  return promise;
}

function hasAnswers(text: string, expected: number): boolean {
  return text.split("HTTP/1.1 ").length > expected;
}

async function sendAll(socket: Socket, pieces: Stream, turnsBetween: number): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    socket.write(piece);
    for (let turns = 0; turns < turnsBetween; turns += 1) await new Promise((turn) => setImmediate(turn));
  }
}
