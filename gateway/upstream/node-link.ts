import { WebSocket } from "ws";
import { lookupName } from "#daemon/http/name-lookup.ts";
import type { Logger } from "#daemon/log/log.ts";
import { pauseWhileRunning, createBackoff } from "#daemon/time.ts";
import { readObject } from "../json-rpc/read-object.ts";
import { type NodeResponse, formatCall } from "../json-rpc/read-answer.ts";
import { formatRpcError, rpcErrors } from "../errors.ts";

/** Response to a call while the link is down, is lost, or the node takes too long. */
export const unanswered: NodeResponse = {
  kind: "error",
  json: formatRpcError(rpcErrors.nodeUnavailable),
};

/** Calls over the node's WebSocket that are awaiting a response. */
export type LinkCalls = Readonly<{
  send: (socket: WebSocket, method: string, params: string) => Promise<NodeResponse>;
  /** Completes the call whose id is in the message. */
  settle: (message: ReadonlyMap<string, string>) => void;
  /** Ends all calls after the connection is lost: no more responses will arrive. */
  dropAll: () => void;
}>;

export function createLinkCalls(timeoutMs: number): LinkCalls {
  const waiting = new Map<string, (answer: NodeResponse) => void>();
  let lastId = 0;
  return {
    send: (socket, method, params) => {
      lastId += 1;
      const id = String(lastId);
      socket.send(Buffer.from(formatCall(id, method, params), "latin1"), { binary: false });
      const over = new AbortController();
      const { promise, resolve } = Promise.withResolvers<NodeResponse>();
      waiting.set(id, (answer) => {
        over.abort();
        resolve(answer);
      });
      // Responses that the node sent while this process was suspended are read before the timeout fires.
      return pauseWhileRunning(timeoutMs, over.signal).then(() => {
        if (over.signal.aborted) return promise;
        waiting.delete(id);
        return unanswered;
      });
    },
    settle: (message) => {
      const id = message.get("id") ?? "";
      const answered = waiting.get(id);
      waiting.delete(id);
      const result = message.get("result");
      const error = message.get("error");
      if (result !== undefined) answered?.({ kind: "result", json: result });
      else answered?.(error === undefined ? unanswered : { kind: "error", json: error });
    },
    dropAll: () => {
      for (const answered of waiting.values()) answered(unanswered);
      waiting.clear();
    },
  };
}

/** Max size of a message from the node over WebSocket. */
const messageBytes = 67_108_864;

/** URL of the node's WebSocket, delays between connection attempts, and timeout for a handshake or a call; times are in ms. */
export type NodeLinkOptions = Readonly<{ url: string; reconnectMs: number; reconnectMaxMs: number; timeoutMs: number }>;

export type NodeLinkEvents = Readonly<{
  opened: () => void;
  /** Called when the connection, and with it every subscription, is lost. */
  lost: () => void;
  /** Called with a notification: the subscription's id and the result, both as JSON text. */
  notified: (subscription: string, result: string) => void;
}>;

/** One WebSocket to the node, reopened whenever it is lost. */
export type NodeLink = Disposable &
  Readonly<{
    isOpen: () => boolean;
    /** Returns the node's response; an error if the link is down, is lost, or the node takes too long. */
    call: (method: string, params: string) => Promise<NodeResponse>;
    /** Closes the connection and reconnects; meant for a connection that is open but silent. */
    reset: () => void;
    /** Connects at once if the next attempt is still pending: the node has been reached by other means. */
    retryNow: () => void;
  }>;

/** `random` returns a number from 0 up to 1, which adds jitter to the connection attempts. */
export type NodeLinkDependencies = Readonly<{ events: NodeLinkEvents; log: Logger; random: () => number }>;

type LinkState = { socket: WebSocket | undefined; timer: NodeJS.Timeout | undefined; isOver: boolean };

/** Connects to the node's WebSocket and reconnects, with backoff while the node can't be reached, until disposed of. */
export function startNodeLink(options: NodeLinkOptions, { events, log, random }: NodeLinkDependencies): NodeLink {
  const calls = createLinkCalls(options.timeoutMs);
  const state: LinkState = { socket: undefined, timer: undefined, isOver: false };
  const backoff = createBackoff({ initialMs: options.reconnectMs, maxMs: options.reconnectMaxMs }, { random });
  const notify = createLinkLogger(options.url, log);

  const receive = (data: Buffer) => {
    const message = readObject(data.toString("latin1"));
    // A message shows that the connection works; a connection may also be closed as soon as it is open.
    if (message !== undefined) backoff.reset();
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
    state.timer = undefined;
    const socket = new WebSocket(options.url, {
      maxPayload: messageBytes,
      lookup: lookupName,
      perMessageDeflate: false,
    });
    state.socket = socket;
    let wasOpen = false;
    const settled = new AbortController();
    void giveUpAfter(options.timeoutMs, settled.signal, (error) => {
      if (!state.isOver) notify("unreachable", error);
      socket.terminate();
    });
    socket.on("open", () => {
      wasOpen = true;
      settled.abort();
      notify("open");
      events.opened();
    });
    socket.on("message", receive);
    // A "close" event follows.
    socket.on("error", (error) => {
      if (!wasOpen && !state.isOver) notify("unreachable", error);
    });
    socket.on("close", () => {
      settled.abort();
      state.socket = undefined;
      calls.dropAll();
      if (wasOpen && !state.isOver) notify("lost");
      if (wasOpen) events.lost();
      if (!state.isOver) state.timer = setTimeout(connect, backoff.nextMs());
    });
  };
  connect();
  return {
    isOpen: () => state.socket?.readyState === WebSocket.OPEN,
    reset: () => state.socket?.terminate(),
    retryNow: () => {
      if (state.timer === undefined) return;
      clearTimeout(state.timer);
      connect();
    },
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

/** Aborts a handshake when it times out. The timeout in `ws` would also count time during which this process was suspended. */
async function giveUpAfter(ms: number, settled: AbortSignal, giveUp: (error: Error) => void): Promise<void> {
  await pauseWhileRunning(ms, settled);
  if (!settled.aborted) giveUp(new Error(`no response to the handshake within ${ms} ms`));
}

type LinkWord = "open" | "lost" | "unreachable";

/** Logs changes in the connection's state: once per change, not per attempt. */
function createLinkLogger(url: string, log: Logger): (word: LinkWord, error?: Error) => void {
  const { host } = new URL(url);
  let last: LinkWord | undefined;
  return (word, error) => {
    if (word === last) return;
    last = word;
    if (word === "open") log.info({ event: "upstream-connected", host }, "connected to the node's WebSocket");
    else if (word === "lost")
      log.warn({ event: "upstream-disconnected", host }, "lost the node's WebSocket; reconnecting");
    else {
      log.warn(
        { event: "upstream-unreachable", err: error, host },
        "the node's WebSocket can't be reached; retrying with backoff. Until then, heads are polled over HTTP and subscriptions are rejected; check node.webSocketUrl",
      );
    }
  };
}
