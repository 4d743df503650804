/** Connections that one caller may have for each that is left free. */
const sharePerFree = 3;

/**
 * Who has how many of the node's connections. Whoever has more than three times as many as are free gets no further one: alone a caller has
 * about three quarters of them, two have three sevenths each, and some are free for whoever comes next, who need not wait until long answers to
 * others are through. (The threshold is that of Choudhury and Hahne's for buffers that queues share, "Dynamic queue length thresholds for
 * shared-memory packet switches", 1998.)
 */
export class ConnectionShares<Connection extends object> {
  readonly #connections: number;
  readonly #users = new Map<Connection, string>();
  readonly #byCaller = new Map<string, number>();

  constructor(connections: number) {
    this.#connections = connections;
  }

  /** Whether a caller may have one more. Whoever has none may, as long as one is free. */
  mayTake(caller: string): boolean {
    const free = this.#connections - this.#users.size;
    return (this.#byCaller.get(caller) ?? 0) <= free * sharePerFree;
  }

  take(connection: Connection, caller: string): void {
    this.#users.set(connection, caller);
    this.#byCaller.set(caller, (this.#byCaller.get(caller) ?? 0) + 1);
  }

  /** A connection is free again, or gone. */
  give(connection: Connection): void {
    const caller = this.#users.get(connection);
    if (caller === undefined) return;
    this.#users.delete(connection);
    const left = (this.#byCaller.get(caller) ?? 1) - 1;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}
