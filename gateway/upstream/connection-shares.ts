/** Connections that one caller may have for each that is left free. */
const sharePerFree = 3;
/**
 * Callers without a connection that are remembered; beyond that all of them are forgotten together. To forget each with its last call would
 * change the map with every call, at the price that `reads/reads-in-flight.ts` describes.
 */
const restingCallers = 10_000;

/** What one caller has of the connections. */
type Share = { connections: number };

/** A connection as its user is noted on it. */
export type SharedConnection = { share?: Share | undefined };

/**
 * Who has how many of the node's connections. Whoever has more than three times as many as are free gets no further one: alone a caller has
 * about three quarters of them, two have three sevenths each, and some are free for whoever comes next, who need not wait until long answers to
 * others are through. (The threshold is that of Choudhury and Hahne's for buffers that queues share, "Dynamic queue length thresholds for
 * shared-memory packet switches", 1998.)
 */
export class ConnectionShares<Connection extends SharedConnection> {
  readonly #connections: number;
  #byCaller = new Map<string, Share>();
  #taken = 0;
  #resting = 0;

  constructor(connections: number) {
    this.#connections = connections;
  }

  /** Whether a caller may have one more. Whoever has none may, as long as one is free. */
  mayTake(caller: string): boolean {
    const free = this.#connections - this.#taken;
    return (this.#byCaller.get(caller)?.connections ?? 0) <= free * sharePerFree;
  }

  take(connection: Connection, caller: string): void {
    const known = this.#byCaller.get(caller);
    const share = known ?? { connections: 0 };
    if (known === undefined) this.#byCaller.set(caller, share);
    else if (share.connections === 0) this.#resting -= 1;
    share.connections += 1;
    this.#taken += 1;
    connection.share = share;
  }

  /** A connection is free again, or gone. */
  give(connection: Connection): void {
    const { share } = connection;
    if (share === undefined) return;
    connection.share = undefined;
    this.#taken -= 1;
    share.connections -= 1;
    if (share.connections > 0) return;
    this.#resting += 1;
    if (this.#resting <= restingCallers) return;
    this.#byCaller = new Map([...this.#byCaller].filter(([, { connections }]) => connections > 0));
    this.#resting = 0;
  }
}

/** What waits for a client to take its answer, and for whom. */
type Held = Readonly<{ caller: string; cut: () => void }>;

/**
 * The node's connections whose answers wait for clients to take them. There are never more than `most`: one more, and the caller with the
 * most of them loses the one that has waited longest, so that clients which take nothing can't hold the node's connections from others.
 */
export class HeldConnections<Connection extends Held> {
  readonly #most: number;
  /** In the order in which they began to wait. */
  readonly #held = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** An answer begins to wait. */
  add(connection: Connection): void {
    this.#held.add(connection);
    if (this.#held.size <= this.#most) return;
    const slowest = this.#slowest();
    if (slowest === undefined) return;
    this.#held.delete(slowest);
    slowest.cut();
  }

  /** It waits no more. */
  delete(connection: Connection): void {
    this.#held.delete(connection);
  }

  #slowest(): Connection | undefined {
    const byCaller = new Map<string, Connection[]>();
    for (const connection of this.#held) {
      const own = byCaller.get(connection.caller);
      if (own === undefined) byCaller.set(connection.caller, [connection]);
      else own.push(connection);
    }
    let heaviest: readonly Connection[] = [];
    for (const own of byCaller.values()) if (own.length > heaviest.length) heaviest = own;
    return heaviest[0];
  }
}
