type Held = Readonly<{ caller: string; cut: () => void }>;

/**
 * Connections to the node whose responses are waiting for slow clients. There are never more than `most`: if one more is added, the caller
 * with the most such connections loses the one that has waited longest, so that clients that read nothing can't block the connections to
 * the node for other clients.
 */
export class HeldConnections<Connection extends Held> {
  readonly #most: number;
  /** Connections in the order in which they started to wait. */
  readonly #held = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  add(connection: Connection): void {
    this.#held.add(connection);
    if (this.#held.size <= this.#most) return;
    const slowest = this.#slowest();
    if (slowest === undefined) return;
    this.#held.delete(slowest);
    slowest.cut();
  }

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
