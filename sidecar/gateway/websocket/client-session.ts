import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import type { Caller } from "../callers/caller.ts";
import type { AnswerFlow } from "../dispatch/answer-sink.ts";
import type { MessageHandler } from "../dispatch/message-handler.ts";
import { textSink, type NoText, type TextAnswer } from "../dispatch/text-sink.ts";
import { goneTier } from "../callers/caller.ts";
import type { Meter } from "../observe/meter.ts";
import type { PolicySource } from "../policy/policy.ts";
import { makeClientSubscriptions } from "./client-subscriptions.ts";
import { makeDeparture } from "./departure.ts";
import type { News } from "./news.ts";
import type { SubscriptionHub } from "./subscription-hub.ts";
import { writeTextFrame } from "./text-frame.ts";
import type { TraceContext } from "../observe/trace-context.ts";

/** Bounds of one WebSocket client. */
export type ClientSessionOptions = Readonly<{ callsInFlight: number; queueBytes: number }>;

/** What serving a WebSocket client takes. */
export type ClientSessionDependencies = Readonly<{
  policy: PolicySource;
  handle: MessageHandler;
  hub: SubscriptionHub;
  /** The client was dropped, and why. */
  dropped: (reason: "slow" | "lost" | "silent") => void;
  limited: Meter["limited"];
}>;

/** A client whose WebSocket is open. */
export type ConnectedClient = Readonly<{
  socket: WebSocket;
  /** What the socket stands on, for messages that are shared: what the socket writes itself is written whole and at once. */
  connection: Duplex;
  caller: Caller;
  /** What the upgrade said: the calls on the connection are part of that trace. */
  traceContext: TraceContext | undefined;
}>;

/** A WebSocket client being served. */
export type ClientSession = Readonly<{
  subscriptions: () => number;
  /** Asks whether the client is alive; drops it when the last question had no answer. */
  ping: () => void;
  /** Answers what is under way, then closes with 1001; settles when that is done. */
  leave: () => Promise<void>;
}>;

/** Close codes (RFC 6455, section 7.4.1, and IANA's registry). */
const serviceRestart = 1012;
const tryAgainLater = 1013;
/** Time in which a slow client may still take its backlog and the close that follows it. */
const slowGraceMs = 1_000;

/** Serves a WebSocket: messages like HTTP bodies, and subscriptions. Ends when the socket closes. */
export function serveClient(
  { socket, connection, caller, traceContext }: ConnectedClient,
  options: ClientSessionOptions,
  { policy, handle, hub, dropped, limited }: ClientSessionDependencies,
): ClientSession {
  const flows = new Set<AnswerFlow>();
  const state = { calls: 0, isAlive: true };
  const departure = makeDeparture(socket);

  const { send, sendNews } = makeSender({ socket, connection }, options.queueBytes, () => dropped("slow"));
  const subscriptions = makeClientSubscriptions({
    hub,
    send: sendNews,
    limit: () => (policy().tiers.get(caller.tierName) ?? goneTier).subscriptions,
    limited: () => limited("subscriptions", caller.tierName),
    lost: () => {
      dropped("lost");
      socket.close(serviceRestart, "the node's connection was lost; subscribe again");
    },
  });
  const reply = (answer: TextAnswer | NoText, afterReply: readonly (() => void)[]) => {
    state.calls -= 1;
    if (state.calls < options.callsInFlight && socket.isPaused && !departure.hasBegun()) socket.resume();
    if (typeof answer === "string") socket.close(tryAgainLater, "an answer could not be completed");
    else if (answer.text !== "") send(answer.text);
    for (const run of afterReply) run();
    departure.left(state.calls);
  };
  socket.on("message", (data: RawData) => {
    const afterReply: (() => void)[] = [];
    let flow: AnswerFlow | undefined;
    let isDone = false;
    state.calls += 1;
    if (state.calls >= options.callsInFlight) socket.pause();
    const sink = textSink(policy().settings.limits.batchResponseBytes, (answer) => {
      isDone = true;
      if (flow !== undefined) flows.delete(flow);
      reply(answer, afterReply);
    });
    const own = subscriptions.forMessage((run) => afterReply.push(run));
    flow = handle(asBuffer(data), { caller, traceContext, subscriptions: own }, sink);
    if (!isDone) flows.add(flow);
  });
  socket.on("pong", () => {
    state.isAlive = true;
  });
  // Followed by "close".
  socket.on("error", () => socket.terminate());
  socket.on("close", () => {
    subscriptions[Symbol.dispose]();
    for (const flow of flows) flow.cancel();
    flows.clear();
    departure.gone();
  });
  return {
    subscriptions: subscriptions.size,
    leave: () => {
      departure.begin(state.calls);
      return departure.done;
    },
    ping: () => {
      if (!state.isAlive) {
        dropped("silent");
        socket.terminate();
        return;
      }
      state.isAlive = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    },
  };
}

/** Sends messages, and drops a client that has more than `queueBytes` of them to take. */
function makeSender(
  { socket, connection }: Pick<ConnectedClient, "socket" | "connection">,
  queueBytes: number,
  droppedAsSlow: () => void,
) {
  const dropIfSlow = () => {
    if (socket.bufferedAmount <= queueBytes) return;
    droppedAsSlow();
    socket.close(tryAgainLater, "too slow");
    // Its backlog may keep the close from ever getting through.
    setTimeout(() => socket.terminate(), slowGraceMs).unref();
  };
  return {
    send: (text: string) => {
      if (socket.readyState !== socket.OPEN) return;
      socket.send(Buffer.from(text, "latin1"), { binary: false });
      dropIfSlow();
    },
    sendNews: (start: Buffer, { tail }: News) => {
      if (socket.readyState !== socket.OPEN) return;
      writeTextFrame(connection, start, tail);
      dropIfSlow();
    },
  };
}

function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
