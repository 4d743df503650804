import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { toAddressKey } from "../proxies/client-address.ts";
import { admitBefore, putBefore } from "../raw-connections.ts";
import type { ConnectionMetrics, ConnectionRefusal } from "./connection-metrics.ts";
import { HeldConnection, type ConnectionServer, chooseToShed } from "./held-connection.ts";
import { formatRefusal, refuseConnection } from "./refused-connection.ts";

/** Limits of one listener's connections within the process. */
export type ListenerRoom = Readonly<{
  /** Name in metrics. */
  name: string;
  /** Most connections of this listener now. */
  most: () => number;
  /** Most connections of one address now. */
  mostOfAddress: () => number;
  /** Whether an address may make one more connection now, which then counts. */
  mayMake: (address: string) => boolean;
  /** Whether there is room in the whole process; asked after this listener's own bound. */
  hasRoom: () => boolean;
  /** Makes room in the process by closing idle connections of other listeners; false if there are none. */
  shedElsewhere: () => boolean;
  /** Called when a connection was refused, or idle ones were closed, for want of room. */
  wasFull: () => void;
  metrics: ConnectionMetrics;
  clock: () => number;
}>;

/** Part of the connections that is closed at once where room is needed: looking at all of them for each new one would cost too much. */
const shedShare = 1 / 64;
/** The same of those whose addresses hold more than their share: who opens them again as they are closed makes others pay for each look. */
const shedShareOfGreedy = 1 / 16;
/** Time until the next look for idle connections after one that found none. */
const lookAgainMs = 100;
/** Connections that are closing, or are being refused, at one time, out of the reserve; more are closed without a word. */
const leavingMost = 16;

/** Time that a listener that stops waits for a client that takes nothing of what was written for it. */
const deafMs = 2_000;

const full = formatRefusal("503 Service Unavailable", "too many connections; try again", ["Retry-After: 1"]);
const addressFull = formatRefusal("429 Too Many Requests", "too many connections of this address; close some first", [
  "Retry-After: 1",
]);

/** The connections of one listener: bounded, each known by what it is at, and the idle ones closed before a new one is refused. */
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

  /** Most connections that it may hold now. */
  get most(): number {
    return this.#room.most();
  }

  /** Connections that were refused or let go and are not closed yet: they hold a descriptor. */
  get leaving(): number {
    return this.#leaving;
  }

  /**
   * Bounds a server's connections. Call it last of what is put before the server, so that nothing is done for a connection that there is
   * no room for.
   */
  bound(server: Server): void {
    server.on("request", (request: IncomingMessage, response: ServerResponse) =>
      this.#held.get(request.socket)?.beginRequest(request, response, this.#room.clock),
    );
    // A separate listener would make node:http take every upgrade.
    if (server.listenerCount("upgrade") > 0) {
      server.prependListener("upgrade", (_, socket) => this.#held.get(socket as Socket)?.upgrades());
    }
    putBefore(server, (behind) => (socket) => {
      if (this.#admit(socket)) behind(socket);
    });
  }

  /**
   * Bounds the connections of one address, and how fast it makes them. Call it before whoever reads the client's address from the connection, such as the PROXY
   * protocol's header, so that it sees that one. A peer that is a proxy is everybody's address, and not bounded.
   */
  boundAddresses(server: Server, isProxy: (remoteAddress: string) => boolean): void {
    admitBefore(server, (remoteAddress) => {
      const mayCome = isProxy(remoteAddress) || this.#room.mayMake(toAddressKey(remoteAddress));
      if (!mayCome) this.#room.metrics.refused(this.#room.name, "rate");
      return mayCome;
    });
    putBefore(server, (behind) => (socket) => {
      const { remoteAddress } = socket;
      if (remoteAddress === undefined || isProxy(remoteAddress) || this.#admitAddress(socket, remoteAddress)) {
        behind(socket);
      }
    });
  }

  /** Says who serves a connection from now on; undefined: node:http. */
  serve(socket: Socket, server: ConnectionServer | undefined): void {
    const held = this.#held.get(socket);
    if (held !== undefined) held.server = server;
  }

  /** Closes some idle connections, at least `least` if there are as many; false if there are none. */
  shed(least = 1): boolean {
    const nowMs = this.#room.clock();
    if (nowMs < this.#nothingToShedUntilMs) return false;
    const most = Math.max(least, Math.ceil(this.size * shedShare));
    const share = Math.max(1, Math.floor(this.size / (this.#byAddress.size + 1)));
    const isOverShare = (address: string) => (this.#byAddress.get(address)?.size ?? 0) > share;
    const mostOfGreedy = Math.max(most, Math.ceil(this.size * shedShareOfGreedy));
    const chosen = chooseToShed(this.#held.values(), { nowMs, most, mostOfGreedy, isOverShare });
    const hasShed = this.#shed(chosen, nowMs);
    if (hasShed) this.#room.wasFull();
    else this.#nothingToShedUntilMs = nowMs + lookAgainMs;
    return hasShed;
  }

  /**
   * Closes all that no request is under way on, for a listener that stops, and cuts off those whose clients take nothing of their answers; with `unfinished`, closes those too
   * whose request is not whole.
   */
  closeIdle({ unfinished }: Readonly<{ unfinished: boolean }>): void {
    const nowMs = this.#room.clock();
    for (const held of this.#held.values()) {
      if (held.takesNothing(nowMs, deafMs)) {
        this.#forget(held);
        held.socket.destroy();
        continue;
      }
      const { kind } = held.standing(nowMs);
      if (kind === "busy" || (kind === "unfinished" && !unfinished)) continue;
      this.#forget(held);
      held.close(nowMs);
    }
  }

  #admit(socket: Socket): boolean {
    const { most, hasRoom, shedElsewhere, clock } = this.#room;
    const fits = (this.size < most() || this.shed()) && (hasRoom() || this.shed() || shedElsewhere());
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
    const isFull = known !== undefined && known.size >= this.#room.mostOfAddress();
    if (isFull && !this.#shed(chooseToShed(known, { nowMs, most: 1 }), nowMs)) {
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

  #refuse(socket: Socket, reason: ConnectionRefusal): void {
    this.#room.metrics.refused(this.#room.name, reason);
    if (this.#leave(socket)) refuseConnection(socket, reason === "full" ? full : addressFull);
  }

  /** Counts a connection that is to go until it is gone; false: too many are, and it was cut. */
  #leave(socket: Socket): boolean {
    if (this.#leaving >= leavingMost) {
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
