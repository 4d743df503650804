import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { requestTimeout } from "./refused-connection.ts";

/**
 * State of a connection, and since when: `new` has sent no request yet, `kept` was answered and waits for its client's
 * next request, `unfinished` has an incomplete request, `busy` is being answered or is a WebSocket.
 */
export type ConnectionStanding = Readonly<{ kind: "new" | "kept" | "unfinished" | "busy"; sinceMs: number }>;

/** Server of a connection in place of node:http. */
export type ConnectionServer = Readonly<{
  standing: () => ConnectionStanding;
  /** Ends it when what was written is out; a request that is not whole is answered 408. */
  close: () => void;
}>;

/** Time without progress after which a connection that is being closed is no longer waited for. */
const closingMs = 1_000;

/** A client's connection that a listener holds. */
export class HeldConnection {
  readonly socket: Socket;
  /** Key by which it counts among the connections of an address; undefined: it does not count. */
  address: string | undefined;
  /** Undefined: node:http. */
  server: ConnectionServer | undefined;
  #request: IncomingMessage | undefined;
  #underWay = 0;
  #hasRequested = false;
  #isUpgraded = false;
  #idleSinceMs: number;
  /** Bytes that had been read when the last request was complete: more than that is the start of another. */
  #readAtWhole = 0;
  /** Time at which the incomplete request began, or was first seen. */
  #begunAtMs: number | undefined;
  /** Bytes that the client had taken when it was last seen to take some; undefined while nothing waits for it. */
  #taking: Readonly<{ taken: number; sinceMs: number }> | undefined;

  constructor(socket: Socket, nowMs: number) {
    this.socket = socket;
    this.#idleSinceMs = nowMs;
  }

  /** Takes note of a request whose head node:http has read. */
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
      // Of a request whose body nobody read it is not known when it was whole.
      if (!request.readableEnded) isWhole();
    });
  }

  /** Whether the client has taken nothing of what waits for it for so long. To be called repeatedly: the time begins with the first call. */
  takesNothing(nowMs: number, forMs: number): boolean {
    const { bytesWritten, writableLength } = this.socket;
    const taken = bytesWritten - writableLength;
    if (writableLength === 0) this.#taking = undefined;
    else if (this.#taking?.taken !== taken) this.#taking = { taken, sinceMs: nowMs };
    return this.#taking !== undefined && nowMs - this.#taking.sinceMs > forMs;
  }

  /** Takes note that it is a WebSocket from now on. */
  upgrades(): void {
    this.#isUpgraded = true;
  }

  standing(nowMs: number): ConnectionStanding {
    if (this.server !== undefined) return this.server.standing();
    if (this.#isUpgraded) return { kind: "busy", sinceMs: this.#idleSinceMs };
    const isRequesting = this.#underWay > 0;
    const isWhole = this.#underWay > 1 || this.#request?.complete === true;
    // What is still on its way to the client is an answer under way, too.
    if ((isRequesting && isWhole) || this.socket.writableLength > 0)
      return { kind: "busy", sinceMs: this.#idleSinceMs };
    // Node reports nothing about a head that has begun, so that its age counts from the first look.
    if (isRequesting || this.socket.bytesRead > this.#readAtWhole) {
      this.#begunAtMs ??= nowMs;
      return { kind: "unfinished", sinceMs: this.#begunAtMs };
    }
    return { kind: this.#hasRequested ? "kept" : "new", sinceMs: this.#idleSinceMs };
  }

  /** Ends it, and does not wait for a client that leaves its own side open. */
  close(nowMs: number): void {
    if (this.server !== undefined) {
      this.server.close();
      return;
    }
    const { socket } = this;
    if (this.standing(nowMs).kind === "unfinished") socket.write(requestTimeout, "latin1");
    socket.setTimeout(closingMs, () => socket.destroy());
    socket.destroySoon();
  }
}

/** Time that a new connection has to send its first bytes before it may be closed for others: a round trip, and a lost packet. */
const newGraceMs = 1_000;
/** Time that a request may take to come before its connection may be closed for others. */
const unfinishedGraceMs = 3_000;

/** Kinds of connections in the order in which they are closed for others, each after its time in `graceMs`. */
const order = ["new", "kept", "unfinished"] as const;
const graceMs = { new: newGraceMs, kept: 0, unfinished: unfinishedGraceMs } as const;

/** Limits on how many connections are closed, and of which addresses. */
export type ShedOptions = Readonly<{
  nowMs: number;
  most: number;
  /** Most that are closed of addresses that hold more than their share; absent: `most`. */
  mostOfGreedy?: number;
  /** Whether an address holds more than its share: its idle connections go before all others, and have no grace. Absent: none does. */
  isOverShare?: (address: string) => boolean;
}>;

/**
 * Chooses connections to be closed for others: first those of addresses that hold more than their share; then those that have asked
 * nothing, then those that are kept alive, then those whose request does not become whole; of each kind the longest waiting. None that is
 * being answered.
 */
export function chooseToShed(
  connections: Iterable<HeldConnection>,
  { nowMs, most, mostOfGreedy = most, isOverShare }: ShedOptions,
): readonly HeldConnection[] {
  const found: { connection: HeldConnection; rank: number; sinceMs: number }[] = [];
  for (const connection of connections) {
    const { kind, sinceMs } = connection.standing(nowMs);
    if (kind === "busy") continue;
    const { address } = connection;
    const isGreedy = address !== undefined && isOverShare?.(address) === true;
    if (!isGreedy && nowMs - sinceMs < graceMs[kind]) continue;
    found.push({ connection, rank: order.indexOf(kind) + (isGreedy ? 0 : order.length), sinceMs });
  }
  found.sort((one, other) => one.rank - other.rank || one.sinceMs - other.sinceMs);
  const greedy = found.filter(({ rank }) => rank < order.length).length;
  return found.slice(0, Math.max(most, Math.min(greedy, mostOfGreedy))).map(({ connection }) => connection);
}
