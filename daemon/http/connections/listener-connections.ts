import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { toAddressKey } from "../proxies/client-address.ts";
import { filterConnections, prependHandler } from "../raw-connections.ts";
import type { ConnectionMetrics, ConnectionRejection } from "./connection-metrics.ts";
import { HeldConnection, type ConnectionServer, chooseToShed } from "./held-connection.ts";
import { formatRejection, rejectConnection } from "./rejected-connection.ts";

export type ListenerCapacity = Readonly<{
  name: string;
  max: () => number;
  maxPerAddress: () => number;
  /** Counts a new connection of an address, or returns false if its rate is exceeded. */
  mayOpen: (address: string) => boolean;
  /** Whether the process has a free connection slot. */
  hasRoom: () => boolean;
  /** Closes idle connections of other listeners; false if there are none. */
  shedElsewhere: () => boolean;
  /** Called when a limit is reached. */
  wasFull: () => void;
  metrics: ConnectionMetrics;
  clock: () => number;
}>;

/** How long a client may read nothing of its pending output, keep its connection idle, and take to send a request. */
export type ConnectionTimeouts = Readonly<{
  slowReaderTimeoutMs: number;
  idleTimeoutMs: number;
  requestTimeoutMs: number;
}>;

/** Timeout for the first bytes of a new connection, as in node:http. */
const firstBytesMs = 10_000;

/** Share of the connections that is closed at once to free slots: scanning all connections for each new one would cost too much. */
const shedShare = 1 / 64;
/**
 * The same share for an address over its limit: larger, because a client that immediately reopens closed connections makes others pay for
 * each scan.
 */
const shedShareOfGreedy = 1 / 16;
/** Time until the next scan for idle connections after one that found none. */
const checkAgainMs = 100;
/** Max number of connections that are closing or being rejected at a time, taken from the reserve; any more are closed without a response. */
const leavingMax = 16;

/** Time that a stopping listener waits for a client that doesn't read its pending output. */
const unresponsiveMs = 2_000;

const retryAfter = ["Retry-After: 1"];
const full = formatRejection("503 Service Unavailable", "too many connections; retry later", retryAfter);
const addressMessage = "too many connections from this address; close some first";
const addressFull = formatRejection("429 Too Many Requests", addressMessage, retryAfter);

/** The connections of a listener: limited, and tracked by state. Idle connections are closed before a new one is rejected. */
export class ListenerConnections {
  readonly #room: ListenerCapacity;
  readonly #held = new Map<Socket, HeldConnection>();
  readonly #byAddress = new Map<string, Set<HeldConnection>>();
  #leaving = 0;
  #nothingToShedUntilMs = 0;

  constructor(room: ListenerCapacity) {
    this.#room = room;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Current time on the clock that times the connections' activity. */
  get nowMs(): number {
    return this.#room.clock();
  }

  get max(): number {
    return this.#room.max();
  }

  /** Connections rejected or shed but not yet closed: each still uses a descriptor. */
  get leaving(): number {
    return this.#leaving;
  }

  /** Limits a server's connections. Install it last, so that no work is done for a connection that is about to be rejected. */
  limit(server: Server): void {
    server.on("request", (request: IncomingMessage, response: ServerResponse) =>
      this.#held.get(request.socket)?.beginRequest(request, response, this.#room.clock),
    );
    // Adding an upgrade listener here would make node:http accept every upgrade.
    if (server.listenerCount("upgrade") > 0) {
      server.prependListener("upgrade", (_, socket) => this.#held.get(socket as Socket)?.upgrades());
    }
    prependHandler(server, (behind) => (socket) => {
      if (this.#admit(socket)) behind(socket);
    });
  }

  /**
   * Limits the number and rate of connections per address, but not those of proxies, which carry many clients. Call it before installing
   * what sets the connection's address, such as the PROXY protocol: the handler installed last runs first.
   */
  limitAddresses(server: Server, isProxy: (remoteAddress: string) => boolean): void {
    filterConnections(server, (remoteAddress) => {
      const isAllowed = isProxy(remoteAddress) || this.#room.mayOpen(toAddressKey(remoteAddress));
      if (!isAllowed) this.#room.metrics.rejected(this.#room.name, "rate");
      return isAllowed;
    });
    prependHandler(server, (behind) => (socket) => {
      const { remoteAddress } = socket;
      if (remoteAddress === undefined || isProxy(remoteAddress) || this.#admitAddress(socket, remoteAddress)) {
        behind(socket);
      }
    });
  }

  /** Sets the server that serves a connection from now on; undefined: node:http. */
  serve(socket: Socket, server: ConnectionServer | undefined): void {
    const held = this.#held.get(socket);
    if (held !== undefined) held.server = server;
  }

  /** Sets what closes a connection whose client doesn't read; by default, it is destroyed. */
  cutBy(socket: Socket, cut: () => void): void {
    const held = this.#held.get(socket);
    if (held !== undefined) held.cut = cut;
  }

  /** Sets a check for received bytes of a connection that wait to be parsed: meanwhile, the connection counts as busy. */
  waitBy(socket: Socket, isWaiting: () => boolean): void {
    const held = this.#held.get(socket);
    if (held !== undefined) held.isWaiting = isWaiting;
  }

  /** Closes connections whose clients don't read, and those on the fast path that are idle or incomplete for too long, until disposed of. */
  expire(timeouts: ConnectionTimeouts): Disposable {
    const { slowReaderTimeoutMs, idleTimeoutMs, requestTimeoutMs } = timeouts;
    const intervalMs = Math.min(1_000, slowReaderTimeoutMs / 2, idleTimeoutMs / 2, requestTimeoutMs / 2);
    const maxMs = {
      new: Math.min(firstBytesMs, idleTimeoutMs),
      kept: idleTimeoutMs,
      unfinished: requestTimeoutMs,
      busy: Number.POSITIVE_INFINITY,
    };
    const sweep = () => {
      const { nowMs } = this;
      for (const held of this.#held.values()) {
        if (held.isStalled(nowMs, slowReaderTimeoutMs)) held.cut();
        const { kind, sinceMs } = held.server?.activity() ?? { kind: "busy", sinceMs: nowMs };
        // Later than a response's Keep-Alive header announces, never earlier, as in node:http.
        if (nowMs - sinceMs > maxMs[kind] + intervalMs) held.close(nowMs);
      }
    };
    const timer = setInterval(sweep, intervalMs).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** Closes some idle connections, at least `least` if available; false if there are none. */
  shed(minCount = 1): boolean {
    const { nowMs } = this;
    if (nowMs < this.#nothingToShedUntilMs) return false;
    const max = Math.max(minCount, Math.ceil(this.size * shedShare));
    const share = Math.max(1, Math.floor(this.size / (this.#byAddress.size + 1)));
    const isOverShare = (address: string) => (this.#byAddress.get(address)?.size ?? 0) > share;
    const greedyMax = Math.max(max, Math.ceil(this.size * shedShareOfGreedy));
    const chosenConnection = chooseToShed(this.#held.values(), { nowMs, max, greedyMax, isOverShare });
    const hasShed = this.#shed(chosenConnection, nowMs);
    if (hasShed) this.#room.wasFull();
    else this.#nothingToShedUntilMs = nowMs + checkAgainMs;
    return hasShed;
  }

  /** Closes connections of a stopping listener: idle ones, with `unfinished` those with an incomplete request, and those whose clients don't read. */
  closeIdle({ unfinished }: Readonly<{ unfinished: boolean }>): void {
    const { nowMs } = this;
    for (const held of this.#held.values()) {
      const isStalled = held.isStalled(nowMs, unresponsiveMs);
      const { kind } = held.activity(nowMs);
      if (!isStalled && (kind === "busy" || (kind === "unfinished" && !unfinished))) continue;
      this.#forget(held);
      if (isStalled) held.socket.destroy();
      else held.close(nowMs);
    }
  }

  #admit(socket: Socket): boolean {
    const { max, hasRoom, shedElsewhere, clock } = this.#room;
    const fits = (this.size < max() || this.shed()) && (hasRoom() || this.shed() || shedElsewhere());
    if (!fits) {
      this.#room.wasFull();
      this.#reject(socket, "full");
      return false;
    }
    const held = new HeldConnection(socket, clock());
    this.#held.set(socket, held);
    socket.once("close", () => this.#forget(held));
    return true;
  }

  #admitAddress(socket: Socket, remoteAddress: string): boolean {
    const held = this.#held.get(socket);
    if (held === undefined) return true;
    const address = toAddressKey(remoteAddress);
    const { nowMs } = this;
    const known = this.#byAddress.get(address);
    const isFull = known !== undefined && known.size >= this.#room.maxPerAddress();
    if (isFull && !this.#shed(chooseToShed(known, { nowMs, max: 1 }), nowMs)) {
      this.#forget(held);
      this.#reject(socket, "address");
      return false;
    }
    held.address = address;
    const ofAddress = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, ofAddress.add(held));
    return true;
  }

  #shed(chosenConnection: readonly HeldConnection[], nowMs: number): boolean {
    for (const held of chosenConnection) {
      this.#room.metrics.shed(this.#room.name);
      this.#forget(held);
      if (this.#leave(held.socket)) held.close(nowMs);
    }
    return chosenConnection.length > 0;
  }

  #reject(socket: Socket, reason: ConnectionRejection): void {
    this.#room.metrics.rejected(this.#room.name, reason);
    if (this.#leave(socket)) rejectConnection(socket, reason === "full" ? full : addressFull);
  }

  /** Counts a connection as closing until it is closed. If too many are already closing, destroys it and returns false. */
  #leave(socket: Socket): boolean {
    if (this.#leaving >= leavingMax) {
      socket.on("error", () => socket.destroy());
      socket.destroy();
      return false;
    }
    this.#leaving += 1;
    socket.once("close", () => (this.#leaving -= 1));
    return true;
  }

  #forget(held: HeldConnection): void {
    if (!this.#held.delete(held.socket) || held.address === undefined) return;
    const ofAddress = this.#byAddress.get(held.address);
    ofAddress?.delete(held);
    if (ofAddress?.size === 0) this.#byAddress.delete(held.address);
  }
}
