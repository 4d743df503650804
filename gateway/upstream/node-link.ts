import { WebSocket } from "ws";
import { lookupName } from "#daemon/http/name-lookup.ts";
import type { Logger } from "#daemon/log/log.ts";
import { pauseWhileRunning, createBackoff, type Backoff } from "#daemon/time.ts";
import { readObject } from "../json-rpc/read-object.ts";
import { type NodeResponse, formatCall } from "../json-rpc/read-answer.ts";
import { formatRpcError, rpcErrors } from "../errors.ts";

/** Response to a call while the link is down, is lost, or the node takes too long. */
export const unavailableError: NodeResponse = { kind: "error", json: formatRpcError(rpcErrors.nodeUnavailable) };

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

/** `random` returns a number from 0 up to 1, which adds jitter to the connection attempts. */
export type NodeLinkDependencies = Readonly<{ events: NodeLinkEvents; log: Logger; random: () => number }>;

/** One WebSocket to the node, reopened with backoff whenever it is lost, until disposed of. */
export class NodeLink implements Disposable {
  readonly #options: NodeLinkOptions;
  readonly #events: NodeLinkEvents;
  readonly #log: ReturnType<typeof createLinkLogger>;
  readonly #backoff: Backoff;
  /** Receivers of the responses to calls in flight, by id. */
  readonly #calls = new Map<string, (answer: NodeResponse) => void>();
  #lastId = 0;
  #socket: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: NodeLinkOptions, { events, log, random }: NodeLinkDependencies) {
    this.#options = options;
    this.#events = events;
    this.#log = createLinkLogger(options.url, log);
    this.#backoff = createBackoff({ initialMs: options.reconnectMs, maxMs: options.reconnectMaxMs }, { random });
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Returns the node's response; an error if the link is down, is lost, or the node takes too long. */
  async call(method: string, params: string): Promise<NodeResponse> {
    if (this.#socket === undefined || !this.isOpen) return unavailableError;
    this.#lastId += 1;
    const id = String(this.#lastId);
    this.#socket.send(Buffer.from(formatCall(id, method, params), "latin1"), { binary: false });
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<NodeResponse>();
    this.#calls.set(id, (answer) => {
      over.abort();
      resolve(answer);
    });
    // Responses that the node sent while this process was suspended are read before the timeout fires.
    await pauseWhileRunning(this.#options.timeoutMs, over.signal);
    if (over.signal.aborted) return promise;
    this.#calls.delete(id);
    return unavailableError;
  }

  /** Closes the connection and reconnects; meant for a connection that is open but silent. */
  reset(): void {
    this.#socket?.terminate();
  }

  /** Connects at once if the next attempt is still pending: the node has been reached by other means. */
  retryNow(): void {
    if (this.#timer === undefined || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.terminate();
  }

  #connect(): void {
    this.#timer = undefined;
    const { url, timeoutMs } = this.#options;
    const socket = new WebSocket(url, { maxPayload: messageBytes, lookup: lookupName, perMessageDeflate: false });
    this.#socket = socket;
    let wasOpen = false;
    const settledSignal = new AbortController();
    const onFailure = (error: Error) => {
      if (!wasOpen && !this.#isClosed) this.#log("unreachable", error);
    };
    const abortLink = async () => {
      // The handshake timeout in `ws` would also count time during which this process was suspended.
      await pauseWhileRunning(timeoutMs, settledSignal.signal);
      if (settledSignal.signal.aborted) return;
      onFailure(new Error(`no response to the handshake within ${timeoutMs} ms`));
      socket.terminate();
    };
    void abortLink();
    socket.on("open", () => {
      wasOpen = true;
      settledSignal.abort();
      this.#log("open");
      this.#events.opened();
    });
    socket.on("message", (data: Buffer) => this.#receive(data));
    // A "close" event follows.
    socket.on("error", onFailure);
    socket.on("close", () => {
      settledSignal.abort();
      this.#socket = undefined;
      for (const onResponse of this.#calls.values()) onResponse(unavailableError);
      this.#calls.clear();
      if (wasOpen && !this.#isClosed) this.#log("lost");
      if (wasOpen) this.#events.lost();
      if (!this.#isClosed) this.#timer = setTimeout(() => this.#connect(), this.#backoff.nextMs());
    });
  }

  #receive(data: Buffer): void {
    const message = readObject(data.toString("latin1"));
    if (message === undefined) return;
    // Only a message shows that the connection works, because it may be closed as soon as it opens.
    this.#backoff.reset();
    const [result, error, id = ""] = ["result", "error", "id"].map((name) => message.get(name));
    if (message.get("method") === '"eth_subscription"') {
      const params = readObject(message.get("params") ?? "");
      const [subscription, notification] = [params?.get("subscription"), params?.get("result")];
      if (subscription !== undefined && notification !== undefined) this.#events.notified(subscription, notification);
      return;
    }
    const onResponse = this.#calls.get(id);
    this.#calls.delete(id);
    if (result !== undefined) onResponse?.({ kind: "result", json: result });
    else onResponse?.(error === undefined ? unavailableError : { kind: "error", json: error });
  }
}

type LinkState = "open" | "lost" | "unreachable";

/** Logs changes in the connection's state: once per change, not per attempt. */
function createLinkLogger(url: string, log: Logger): (state: LinkState, error?: Error) => void {
  const { host } = new URL(url);
  let last: LinkState | undefined;
  return (state, error) => {
    if (state === last) return;
    last = state;
    if (state === "open") log.info({ event: "upstream-connected", host }, "connected to the node's WebSocket");
    else if (state === "lost")
      log.warn({ event: "upstream-disconnected", host }, "lost the node's WebSocket; reconnecting");
    else {
      log.warn(
        { event: "upstream-unreachable", err: error, host },
        "can't connect to the node's WebSocket; retrying with backoff. Until then, heads are polled over HTTP and subscriptions are rejected; check node.webSocketUrl",
      );
    }
  };
}
