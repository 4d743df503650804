import { WebSocket } from "ws";
import type { Logger } from "#daemon/log.ts";
import { readObject } from "../envelope/read-object.ts";
import type { NodeAnswer } from "../envelope/read-answer.ts";
import { makeLinkCalls, unanswered } from "./link-calls.ts";

/** Largest message that the node may send over WebSocket. */
const messageBytes = 67_108_864;

/** How the node's WebSocket is reached. */
export type NodeLinkOptions = Readonly<{ url: string; reconnectMs: number; timeoutMs: number }>;

/** What comes from the node's WebSocket. */
export type NodeLinkEvents = Readonly<{
  opened: () => void;
  /** The connection is gone, and with it every subscription. */
  lost: () => void;
  /** A notification: the subscription's id and its result, both JSON text. */
  notified: (subscription: string, result: string) => void;
}>;

/** One WebSocket to the node, kept up. */
export type NodeLink = Disposable &
  Readonly<{
    isOpen: () => boolean;
    /** The node's answer; an error when the link is down, is lost, or the node takes too long. */
    call: (method: string, params: string) => Promise<NodeAnswer>;
    /** Gives the connection up and connects again: for one that is open and says nothing. */
    reset: () => void;
  }>;

type LinkState = { socket: WebSocket | undefined; timer: NodeJS.Timeout | undefined; isOver: boolean };

/** Connects to the node's WebSocket, again and again until it is disposed of. */
export function startNodeLink(
  options: NodeLinkOptions,
  { events, log }: Readonly<{ events: NodeLinkEvents; log: Logger }>,
): NodeLink {
  const calls = makeLinkCalls(options.timeoutMs);
  const state: LinkState = { socket: undefined, timer: undefined, isOver: false };

  const receive = (data: Buffer) => {
    const message = readObject(data.toString("latin1"));
    if (message?.get("method") !== '"eth_subscription"') {
      if (message !== undefined) calls.settle(message);
      return;
    }
    const params = readObject(message.get("params") ?? "");
    const subscription = params?.get("subscription");
    const result = params?.get("result");
    if (subscription !== undefined && result !== undefined) events.notified(subscription, result);
  };
  const connect = () => {
    const socket = new WebSocket(options.url, {
      handshakeTimeout: options.timeoutMs,
      maxPayload: messageBytes,
      perMessageDeflate: false,
    });
    state.socket = socket;
    let wasOpen = false;
    socket.on("open", () => {
      wasOpen = true;
      log.info("connected to the node's WebSocket");
      events.opened();
    });
    socket.on("message", receive);
    socket.on("error", (error) => log.debug({ err: error }, "the node's WebSocket failed"));
    socket.on("close", () => {
      state.socket = undefined;
      calls.dropAll();
      if (wasOpen && !state.isOver) log.warn("lost the node's WebSocket; connecting again");
      if (wasOpen) events.lost();
      if (!state.isOver) state.timer = setTimeout(connect, options.reconnectMs);
    });
  };
  connect();
  return {
    isOpen: () => state.socket?.readyState === WebSocket.OPEN,
    reset: () => state.socket?.terminate(),
    call: async (method, params) => {
      const { socket } = state;
      return socket?.readyState === WebSocket.OPEN ? calls.send(socket, method, params) : unanswered;
    },
    [Symbol.dispose]: () => {
      state.isOver = true;
      clearTimeout(state.timer);
      state.socket?.terminate();
    },
  };
}
