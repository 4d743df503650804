import type { NodeCall, NodeFlow } from "./node-call.ts";
import { shareMessageHeads } from "../wire/message-head.ts";
import { Outbox } from "../wire/outbox.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { FairShares, type QueueBounds, FairQueue } from "#daemon/fair-shares.ts";
import type { PolicySource } from "../policy.ts";
import { HeldConnections } from "./held-connections.ts";
import {
  NodeConnection,
  parseNodeAddress,
  type ConnectionPool,
  type ConnectionTicket,
  type NodeAddress,
} from "./node-connection.ts";

export type NodePoolOptions = QueueBounds &
  Readonly<{
    httpUrl: string;
    connections: number;
    /** Max connections whose responses may wait for slow clients. */
    heldConnections: number;
    connectTimeoutMs: number;
    idleTimeoutMs: number;
  }>;

export type NodePoolDependencies = Readonly<{ now: () => number; turns: SharedTurns; policy: PolicySource }>;

/** Interval between timeout sweeps, and therefore the resolution of every timeout. */
const sweepMs = 50;
/** Sweep interval while no call is in flight and only idle connections can time out: avoids waking an idle process. */
const restingSweepMs = 1_000;

/** Connections to the node, some of them reserved for callers that use few. Calls that wait for a connection are served round-robin. */
export class NodePool implements ConnectionPool, Disposable {
  readonly #options: NodePoolOptions;
  readonly #address: NodeAddress;
  readonly connectTimeoutMs: number;
  readonly turns: SharedTurns;
  readonly policy: PolicySource;
  readonly outbox = new Outbox();
  readonly keepHead = shareMessageHeads();
  readonly #now: () => number;
  readonly #idle: NodeConnection[] = [];
  readonly #all = new Set<NodeConnection>();
  readonly #waiting = new FairQueue<NodeTicket>();
  readonly #shares: FairShares<NodeConnection>;
  readonly #held: HeldConnections<NodeConnection>;
  #sweep: NodeJS.Timeout | undefined;
  #sweepEveryMs = sweepMs;
  #sweptAt: number;
  /**
   * Clock for the deadlines, in milliseconds. Only the sweep advances it, so that no call has to read the system's clock. Its steps are
   * limited, so that time during which the process was suspended does not count against the node.
   */
  #clockMs = 0;

  constructor(options: NodePoolOptions, { now, turns, policy }: NodePoolDependencies) {
    this.#options = options;
    this.#address = parseNodeAddress(options.httpUrl);
    this.#shares = new FairShares(options.connections);
    this.#held = new HeldConnections(options.heldConnections);
    this.connectTimeoutMs = options.connectTimeoutMs;
    this.turns = turns;
    this.policy = policy;
    this.#now = now;
    this.#sweptAt = now();
    this.#sweepEach(sweepMs);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  send(call: NodeCall): NodeFlow {
    if (this.#sweepEveryMs !== sweepMs) {
      // Sets the clock before the first deadline is computed from it.
      this.#advance();
      this.#sweepEach(sweepMs);
    }
    const ticket = new NodeTicket(call, this);
    const connection = this.#shares.mayAcquire(call.caller) ? (this.#idle.pop() ?? this.#connect()) : undefined;
    if (connection !== undefined) this.#start(ticket, connection);
    else if (this.#waiting.isFull(call.caller, this.#options)) call.sink.fail("queueFull");
    else {
      ticket.waitsUntil = this.deadlineIn(call.timeoutMs);
      this.#waiting.add(ticket);
    }
    return ticket;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweep);
    for (const connection of this.#all) connection[Symbol.dispose]();
  }

  /** Adds a caller to a waiting call. If that caller's own queue is full, the call waits only in the queues of the other callers. */
  join(ticket: NodeTicket, caller: string): void {
    if (!this.#waiting.has(ticket)) return;
    ticket.waitsUntil = this.deadlineIn(ticket.call.timeoutMs);
    if (this.#waiting.sizeOf(caller) >= this.#options.queuedCallsPerCaller) return;
    this.#waiting.join(ticket, caller);
    // This caller may get a connection where the previous callers did not.
    this.#serveWaiting();
  }

  leave(ticket: NodeTicket): void {
    this.#waiting.delete(ticket);
  }

  #start(ticket: NodeTicket, connection: NodeConnection): void {
    this.#shares.acquire(connection, ticket.call.caller);
    ticket.connection = connection;
    connection.send(ticket);
  }

  #connect(): NodeConnection | undefined {
    if (this.#all.size >= this.#options.connections) return undefined;
    const connection = new NodeConnection(this.#address, this);
    this.#all.add(connection);
    return connection;
  }

  idle(connection: NodeConnection): void {
    this.#shares.release(connection);
    connection.idleSince = this.#clockMs;
    this.#idle.push(connection);
    this.#serveWaiting();
  }

  /** Serves waiting calls: a connection released by one caller may allow several of them to proceed. */
  #serveWaiting(): void {
    while (this.#waiting.size > 0 && (this.#idle.length > 0 || this.#all.size < this.#options.connections)) {
      const next = this.#waiting.next((caller) => this.#shares.mayAcquire(caller));
      const connection = next === undefined ? undefined : (this.#idle.pop() ?? this.#connect());
      if (next === undefined || connection === undefined) return;
      this.#start(next, connection);
    }
  }

  closed(connection: NodeConnection): void {
    this.#all.delete(connection);
    this.#held.delete(connection);
    this.#shares.release(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#serveWaiting();
  }

  /** Resends a call that got no response because the node had closed the keep-alive connection. */
  resend(ticket: NodeTicket): void {
    const connection = this.#connect();
    if (connection !== undefined) this.#start(ticket, connection);
    else {
      // Another call has taken the connection. This call was already admitted, so the queue's limits are not checked again.
      ticket.waitsUntil = this.deadlineIn(ticket.call.timeoutMs);
      this.#waiting.add(ticket);
    }
  }

  held(connection: NodeConnection, isHeld: boolean): void {
    if (isHeld) this.#held.add(connection);
    else this.#held.delete(connection);
  }

  /** Returns the deadline of a wait. The deadline is never early, and at most two sweeps late. */
  deadlineIn(waitMs: number): number {
    return this.#clockMs + waitMs + sweepMs;
  }

  #sweepEach(everyMs: number): void {
    clearInterval(this.#sweep);
    this.#sweepEveryMs = everyMs;
    this.#sweep = setInterval(() => this.#expire(), everyMs).unref();
  }

  #advance(): void {
    const sweptAt = this.#now();
    this.#clockMs += Math.min(sweptAt - this.#sweptAt, 2 * this.#sweepEveryMs);
    this.#sweptAt = sweptAt;
  }

  #expire(): void {
    this.#advance();
    const now = this.#clockMs;
    for (const connection of this.#all) connection.expire(now);
    for (const ticket of this.#waiting) {
      if (now < ticket.waitsUntil) continue;
      this.#waiting.delete(ticket);
      ticket.call.sink.fail("timeout");
    }
    for (const connection of this.#idle.filter((free) => now - free.idleSince > this.#options.idleTimeoutMs)) {
      connection[Symbol.dispose]();
    }
    const isAtRest = this.#waiting.size === 0 && this.#idle.length === this.#all.size;
    if (isAtRest && this.#sweepEveryMs === sweepMs) this.#sweepEach(restingSweepMs);
  }
}

/** State of a call: queued until `waitsUntil`, then on a connection. The code that made the call controls it through the ticket. */
class NodeTicket implements NodeFlow, ConnectionTicket {
  readonly call: NodeCall;
  waitsUntil = 0;
  connection: NodeConnection | undefined;
  readonly #pool: NodePool;

  constructor(call: NodeCall, pool: NodePool) {
    this.call = call;
    this.#pool = pool;
  }

  resume(): void {
    this.connection?.resume(this);
  }

  join(caller: string): void {
    if (this.connection === undefined) this.#pool.join(this, caller);
  }

  cancel(): void {
    this.#pool.leave(this);
    this.connection?.cancel(this);
  }

  resend(): void {
    this.#pool.resend(this);
  }
}
