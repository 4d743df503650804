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
    const callers = Map.groupBy(this.#held, ({ caller }) => caller).values();
    const [slowest] = callers.reduce((heaviest, own) => (own.length > heaviest.length ? own : heaviest));
    if (slowest === undefined) return;
    this.#held.delete(slowest);
    slowest.cut();
  }

  delete(connection: Connection): void {
    this.#held.delete(connection);
  }
}
