import type { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import type { Caller } from "../callers/caller.ts";
import type { AnswerFlow } from "../dispatch/answer-sink.ts";
import { errorText } from "../envelope/answer-text.ts";
import type { Message } from "../envelope/call.ts";
import { readMessage, type MessageLimits } from "../envelope/read-message.ts";
import { rpcErrors } from "../envelope/rpc-error.ts";
import type { MessageHandler } from "../dispatch/message-handler.ts";
import { textSink, type NoText, type TextAnswer } from "../dispatch/text-sink.ts";
import { goneTier } from "../callers/caller.ts";
import type { Meter } from "../observe/meter.ts";
import type { PolicySource } from "../policy/policy.ts";
import { makeClientInbox } from "./client-inbox.ts";
import { makeClientSender } from "./client-sender.ts";
import { makeClientSubscriptions } from "./client-subscriptions.ts";
import { makeDeparture } from "./departure.ts";
import type { SubscriptionHub } from "./subscription-hub.ts";
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

/** Close code of a server that comes back (IANA's registry of WebSocket close codes). */
const serviceRestart = 1012;
/** Most bytes of an error in the place of a batch's entry, beside its id. */
const refusalBytes = 128;

/** Serves a WebSocket: messages like HTTP bodies, and subscriptions. Ends when the socket closes. */
export function serveClient(
  { socket, connection, caller, traceContext }: ConnectedClient,
  options: ClientSessionOptions,
  { policy, handle, hub, dropped, limited }: ClientSessionDependencies,
): ClientSession {
  const flows = new Set<AnswerFlow>();
  const state = { calls: 0, isAlive: true, unsentBytes: 0 };
  const departure = makeDeparture(socket);
  const limits = () => policy().settings.limits;

  const { send, sendNews } = makeClientSender(
    { socket, connection },
    { queueBytes: options.queueBytes, answerBytes: () => limits().batchResponseBytes },
    () => dropped("slow"),
  );
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
  const reply = (text: string, afterReply: readonly (() => void)[]) => {
    state.calls -= 1;
    if (text !== "") send(text);
    for (const run of afterReply) run();
    departure.left(state.calls);
    if (!departure.hasBegun()) inbox.goOn();
  };
  const take = (message: Buffer) => {
    const afterReply: (() => void)[] = [];
    let flow: AnswerFlow | undefined;
    let isDone = false;
    state.calls += 1;
    const { batchResponseBytes, batchItems } = limits();
    const sink = textSink(batchResponseBytes + message.length + batchItems * refusalBytes, (answer) => {
      isDone = true;
      if (flow !== undefined) flows.delete(flow);
      reply(typeof answer === "string" ? failedAnswer(message, answer, limits()) : answer.text, afterReply);
    });
    const own = subscriptions.forMessage((run) => afterReply.push(run));
    flow = handle(message, { caller, traceContext, subscriptions: own }, sink);
    if (!isDone) flows.add(flow);
  };
  const mayTake = () =>
    state.calls < options.callsInFlight && socket.bufferedAmount <= options.queueBytes && !departure.hasBegun();
  const inbox = makeClientInbox({ socket, mayTake, take });
  socket.on("message", (data: RawData) => {
    if (!departure.hasBegun()) inbox.received(asBuffer(data));
  });
  connection.on("drain", () => {
    if (!departure.hasBegun()) inbox.goOn();
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
      // A client that is not read from can't be heard; that it takes what was sent shows that it is there.
      const isHeard = !socket.isPaused || socket.bufferedAmount >= Math.max(1, state.unsentBytes);
      state.unsentBytes = socket.bufferedAmount;
      if (!state.isAlive && isHeard) {
        dropped("silent");
        socket.terminate();
        return;
      }
      state.isAlive = false;
      if (socket.readyState === socket.OPEN) socket.ping();
    },
  };
}

/** The answer to a message whose own can't be sent: an error with its id. */
function failedAnswer(message: Buffer, reason: NoText, limits: MessageLimits): string {
  const { id } = firstCall(readMessage(message, limits));
  return errorText(id ?? "null", reason === "tooLong" ? rpcErrors.responseTooLarge : rpcErrors.nodeUnavailable);
}

/** The call of a message that holds one; the answers of a batch are kept within bounds one by one. */
function firstCall(message: Message): Readonly<{ id: string | undefined }> {
  return message.kind === "single" ? message.call : { id: undefined };
}

function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
