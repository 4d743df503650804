import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { toAddressKey } from "../proxies/client-address.ts";
import { filterConnections, prependHandler } from "../raw-connections.ts";
import type { ConnectionMetrics, ConnectionRejection } from "./connection-metrics.ts";
import { HeldConnection, type ConnectionServer, chooseToShed } from "./held-connection.ts";
import { formatRejection, rejectConnection } from "./rejected-connection.ts";

/** Limits on a listener's connections within the process. */
export type ListenerRoom = Readonly<{
  /** Name in metrics. */
  name: string;
  /** Current connection limit of this listener. */
  max: () => number;
  /** Current connection limit per address. */
  maxPerAddress: () => number;
  /** Checks whether an address may open another connection now, and if so, counts the connection. */
  mayMake: (address: string) => boolean;
  /** Whether the process has a free connection slot; checked after this listener's own limit. */
  hasRoom: () => boolean;
  /** Frees slots by closing idle connections of other listeners; false if there are none. */
  shedElsewhere: () => boolean;
  /** Called when a connection was refused, or idle ones were closed, because a limit was reached. */
  wasFull: () => void;
  metrics: ConnectionMetrics;
  clock: () => number;
}>;

/** Share of the connections that is closed at once to free slots: scanning all connections for each new one would cost too much. */
const shedShare = 1 / 64;
/**
 * Share of the connections that is closed at once for addresses over their share. It is higher because a client that immediately reopens
 * closed connections makes others pay for each scan.
 */
const shedShareOfGreedy = 1 / 16;
/** Time until the next scan for idle connections after one that found none. */
const checkAgainMs = 100;
/** Max number of connections that are closing or being refused at a time, taken from the reserve; any more are closed without a response. */
const leavingMax = 16;

/** Time that a stopping listener waits for a client that doesn't read its pending output. */
const deafMs = 2_000;

const full = formatRejection("503 Service Unavailable", "too many connections; retry later", ["Retry-After: 1"]);
const addressFull = formatRejection(
  "429 Too Many Requests",
  "too many connections from this address; close some first",
  ["Retry-After: 1"],
);

/** The connections of a listener: limited, and tracked by state. Idle connections are closed before a new one is refused. */
export class ListenerConnections {
  readonly #room: ListenerRoom;
  readonly #held = new Map<Socket, HeldConnection>();
  readonly #byAddress = new Map<string, Set<HeldConnection>>();
  #leaving = 0;
  #nothingToShedUntilMs = 0;

  constructor(room: ListenerRoom) {
    this.#room = room;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Current connection limit. */
  get max(): number {
    return this.#room.max();
  }

  /** Connections refused or shed but not yet closed: each still uses a descriptor. */
  get leaving(): number {
    return this.#leaving;
  }

  /** Limits a server's connections. Install it as the last connection handler, so that no work is done for a connection that is about to be refused. */
  bound(server: Server): void {
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
   * Limits the number and rate of connections per address. Call it before installing anything that reads the client's address from the
   * connection, such as a PROXY protocol header, so that it sees the resulting address. A peer that is a proxy represents many clients, and
   * is not limited.
   */
  boundAddresses(server: Server, isProxy: (remoteAddress: string) => boolean): void {
    filterConnections(server, (remoteAddress) => {
      const mayCome = isProxy(remoteAddress) || this.#room.mayMake(toAddressKey(remoteAddress));
      if (!mayCome) this.#room.metrics.refused(this.#room.name, "rate");
      return mayCome;
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

  /** Closes the connections whose clients have read none of their pending output for `forMs`. Call it about once a second. */
  cutSlowReaders(forMs: number): void {
    const nowMs = this.#room.clock();
    for (const held of this.#held.values()) if (held.takesNothing(nowMs, forMs)) held.cut();
  }

  /** Closes some idle connections, at least `least` if available; false if there are none. */
  shed(least = 1): boolean {
    const nowMs = this.#room.clock();
    if (nowMs < this.#nothingToShedUntilMs) return false;
    const max = Math.max(least, Math.ceil(this.size * shedShare));
    const share = Math.max(1, Math.floor(this.size / (this.#byAddress.size + 1)));
    const isOverShare = (address: string) => (this.#byAddress.get(address)?.size ?? 0) > share;
    const greedyMax = Math.max(max, Math.ceil(this.size * shedShareOfGreedy));
    const chosen = chooseToShed(this.#held.values(), { nowMs, max, greedyMax, isOverShare });
    const hasShed = this.#shed(chosen, nowMs);
    if (hasShed) this.#room.wasFull();
    else this.#nothingToShedUntilMs = nowMs + checkAgainMs;
    return hasShed;
  }

  /**
   * Closes all connections without a request in flight, for a stopping listener, and destroys those whose clients don't read their
   * responses; with `unfinished`, also closes those with an incomplete request.
   */
  closeIdle({ unfinished }: Readonly<{ unfinished: boolean }>): void {
    const nowMs = this.#room.clock();
    for (const held of this.#held.values()) {
      if (held.takesNothing(nowMs, deafMs)) {
        this.#forget(held);
        held.socket.destroy();
        continue;
      }
      const { kind } = held.activity(nowMs);
      if (kind === "busy" || (kind === "unfinished" && !unfinished)) continue;
      this.#forget(held);
      held.close(nowMs);
    }
  }

  #admit(socket: Socket): boolean {
    const { max, hasRoom, shedElsewhere, clock } = this.#room;
    const fits = (this.size < max() || this.shed()) && (hasRoom() || this.shed() || shedElsewhere());
    if (!fits) {
      this.#room.wasFull();
      this.#refuse(socket, "full");
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
    const nowMs = this.#room.clock();
    const known = this.#byAddress.get(address);
    const isFull = known !== undefined && known.size >= this.#room.maxPerAddress();
    if (isFull && !this.#shed(chooseToShed(known, { nowMs, max: 1 }), nowMs)) {
      this.#forget(held);
      this.#refuse(socket, "address");
      return false;
    }
    held.address = address;
    const ofAddress = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, ofAddress.add(held));
    return true;
  }

  #shed(chosen: readonly HeldConnection[], nowMs: number): boolean {
    for (const held of chosen) {
      this.#room.metrics.shed(this.#room.name);
      this.#forget(held);
      if (this.#leave(held.socket)) held.close(nowMs);
    }
    return chosen.length > 0;
  }

  #refuse(socket: Socket, reason: ConnectionRejection): void {
    this.#room.metrics.refused(this.#room.name, reason);
    if (this.#leave(socket)) rejectConnection(socket, reason === "full" ? full : addressFull);
  }

  /** Counts a departing connection until it is closed. Returns false if too many are departing, in which case the connection is destroyed. */
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
