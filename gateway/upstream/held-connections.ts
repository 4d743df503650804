type HeldConnection = Readonly<{ caller: string; cut: () => void }>;

/**
 * Connections to the node whose responses are waiting for slow clients. If one more would exceed `max`, the caller with the most loses its
 * longest-waiting connection, so that clients that read nothing can't take all connections to the node.
 */
export class HeldConnections<Connection extends HeldConnection> {
  readonly #max: number;
  /** Connections in the order in which they started to wait. */
  readonly #held = new Set<Connection>();

  constructor(max: number) {
    this.#max = max;
  }

  add(connection: Connection): void {
    this.#held.add(connection);
    if (this.#held.size <= this.#max) return;
    const callers = Map.groupBy(this.#held, ({ caller }) => caller).values();
    const [slowestGroup] = callers.reduce((heaviest, own) => (own.length > heaviest.length ? own : heaviest));
    if (slowestGroup === undefined) return;
    this.#held.delete(slowestGroup);
    slowestGroup.cut();
  }

  delete(connection: Connection): void {
    this.#held.delete(connection);
  }
}
