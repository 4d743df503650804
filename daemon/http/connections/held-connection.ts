import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { requestTimeoutResponse } from "./rejected-connection.ts";

/**
 * State of a connection and the time at which that state began. `new`: has sent no request yet; `kept`: got a response and waits for its
 * client's next request; `unfinished`: has an incomplete request; `busy`: waits for a response or is a WebSocket.
 */
export type ConnectionActivity = Readonly<{ kind: "new" | "kept" | "unfinished" | "busy"; sinceMs: number }>;

/** A server that serves a connection instead of node:http. */
export type ConnectionServer = Readonly<{
  activity: () => ConnectionActivity;
  /** Closes the connection once its output is flushed; an incomplete request gets a 408. */
  close: () => void;
}>;

/** Time without progress after which a closing connection is destroyed. */
const closingMs = 1_000;

export class HeldConnection {
  readonly socket: Socket;
  /** Address key under which the connection is counted; undefined: not counted. */
  address: string | undefined;
  /** Server of the connection; undefined if node:http serves it. */
  server: ConnectionServer | undefined;
  cut: () => void;
  /** Whether bytes of the client wait to be parsed. */
  isWaiting: () => boolean = () => false;
  #request: IncomingMessage | undefined;
  #underWay = 0;
  #hasRequested = false;
  #isUpgraded = false;
  #idleSinceMs: number;
  /** Number of bytes read by the end of the last request; if more have been read, another request has started. */
  #readAtWhole = 0;
  /** Time at which the incomplete request started, or was first seen. */
  #begunAtMs: number | undefined;
  /** Number of bytes that the client had read when its last progress was seen; undefined while nothing is pending for it. */
  #taking: Readonly<{ taken: number; sinceMs: number }> | undefined;

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket;
    this.cut = () => socket.destroy();
    this.#idleSinceMs = nowMs;
  }

  /** Records the start of a request whose headers node:http has read. */
  beginRequest(request: IncomingMessage, response: ServerResponse, clock: () => number): void {
    this.#hasRequested = true;
    this.#request = request;
    this.#underWay += 1;
    this.#begunAtMs ??= clock();
    const isWhole = () => (this.#readAtWhole = this.socket.bytesRead);
    request.once("end", isWhole);
    response.once("close", () => {
      this.#underWay -= 1;
      this.#begunAtMs = undefined;
      this.#idleSinceMs = clock();
      // If the request's body was not read, its end is unknown.
      if (!request.readableEnded) isWhole();
    });
  }

  /**
   * Checks whether the client has read none of its pending output for `forMs`. Must be called repeatedly: the first call starts the timer.
   * Reading is measured in whole writes: a client that reads less than one, and less than everything pending, counts as reading nothing.
   */
  isStalled(nowMs: number, forMs: number): boolean {
    const { bytesWritten, writableLength } = this.socket;
    const taken = bytesWritten - writableLength;
    if (writableLength === 0) this.#taking = undefined;
    else if (this.#taking?.taken !== taken) this.#taking = { taken, sinceMs: nowMs };
    return this.#taking !== undefined && nowMs - this.#taking.sinceMs > forMs;
  }

  upgrades(): void {
    this.#isUpgraded = true;
  }

  activity(nowMs: number): ConnectionActivity {
    if (this.server !== undefined) return this.server.activity();
    if (this.#isUpgraded) return { kind: "busy", sinceMs: this.#idleSinceMs };
    const hasActiveRequest = this.#underWay > 0;
    const isWhole = this.#underWay > 1 || this.#request?.complete === true;
    // Output still pending for the client counts as a response in flight; a request that waits to be parsed may be complete.
    if ((hasActiveRequest && isWhole) || this.socket.writableLength > 0 || this.isWaiting())
      return { kind: "busy", sinceMs: this.#idleSinceMs };
    // Node doesn't report partial headers, so their age counts from the first check.
    if (hasActiveRequest || this.socket.bytesRead > this.#readAtWhole) {
      this.#begunAtMs ??= nowMs;
      return { kind: "unfinished", sinceMs: this.#begunAtMs };
    }
    return { kind: this.#hasRequested ? "kept" : "new", sinceMs: this.#idleSinceMs };
  }

  /** Closes the connection without waiting for the client to close its side. */
  close(nowMs: number): void {
    if (this.server !== undefined) {
      this.server.close();
      return;
    }
    const { socket } = this;
    if (this.activity(nowMs).kind === "unfinished") socket.write(requestTimeoutResponse, "latin1");
    socket.setTimeout(closingMs, () => socket.destroy());
    socket.destroySoon();
  }
}

/** Grace period for a new connection's first bytes before it may be closed in favour of others: allows for a round trip and a lost packet. */
const newGraceMs = 1_000;
/** Grace period for an incomplete request before its connection may be closed in favour of others. */
const unfinishedGraceMs = 3_000;

/** Kinds of connections in the order in which they are closed in favour of others, each after its grace period in `graceMs`. */
const order = ["new", "kept", "unfinished"] as const;
const graceMs = { new: newGraceMs, kept: 0, unfinished: unfinishedGraceMs } as const;

export type ShedOptions = Readonly<{
  nowMs: number;
  max: number;
  /** Max number of connections to close from addresses over their share; if absent, `max`. */
  greedyMax?: number;
  /** Whether an address has more than its share: its idle connections are closed first, without a grace period. Absent: none has. */
  isOverShare?: (address: string) => boolean;
}>;

/**
 * Selects connections to close in favour of others: first those from addresses over their share, then connections without a request, then
 * keep-alive connections, then those with an incomplete request. Within each kind, the longest idle come first. Never selects a connection
 * with a request in flight.
 */
export function chooseToShed(
  connections: Iterable<HeldConnection>,
  { nowMs, max, greedyMax = max, isOverShare }: ShedOptions,
): readonly HeldConnection[] {
  const found: { connection: HeldConnection; rank: number; sinceMs: number }[] = [];
  for (const connection of connections) {
    const { kind, sinceMs } = connection.activity(nowMs);
    if (kind === "busy") continue;
    const { address } = connection;
    const isGreedy = address !== undefined && isOverShare?.(address) === true;
    if (!isGreedy && nowMs - sinceMs < graceMs[kind]) continue;
    found.push({ connection, rank: order.indexOf(kind) + (isGreedy ? 0 : order.length), sinceMs });
  }
  found.sort((one, other) => one.rank - other.rank || one.sinceMs - other.sinceMs);
  const greedyCount = found.filter(({ rank }) => rank < order.length).length;
  return found.slice(0, Math.max(max, Math.min(greedyCount, greedyMax))).map(({ connection }) => connection);
}
