type Held = Readonly<{ caller: string; cut: () => void }>;

/**
 * Connections to the node whose responses are waiting for slow clients. When another would exceed `max`, drops the longest-waiting
 * connection of the caller that has the most, so that clients that read nothing can't starve others of node connections.
 */
export class HeldConnections<Connection extends Held> {
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
    const [slowest] = callers.reduce((heaviest, own) => (own.length > heaviest.length ? own : heaviest));
    if (slowest === undefined) return;
    this.#held.delete(slowest);
    slowest.cut();
  }

  delete(connection: Connection): void {
    this.#held.delete(connection);
  }
}
