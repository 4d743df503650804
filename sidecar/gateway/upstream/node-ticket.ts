import type { NodeCall, NodeFlow } from "./node-call.ts";
import type { WaitingTurns } from "./waiting-turns.ts";

/** What a ticket needs of the connection that it is on. */
type TicketConnection = Readonly<{ resume: (ticket: NodeTicket) => void; cancel: (ticket: NodeTicket) => void }>;

/** A call's place: in the queue until `waitsUntil`, then on a connection. Whoever made the call steers it by its ticket. */
export class NodeTicket implements NodeFlow {
  readonly call: NodeCall;
  /** In the pool's clock. */
  waitsUntil = 0;
  connection: TicketConnection | undefined;
  readonly #queue: WaitingTurns<NodeTicket>;

  constructor(call: NodeCall, queue: WaitingTurns<NodeTicket>) {
    this.call = call;
    this.#queue = queue;
  }

  resume(): void {
    this.connection?.resume(this);
  }

  cancel(): void {
    this.#queue.delete(this);
    this.connection?.cancel(this);
  }
}
