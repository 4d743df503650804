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
