import type { NodeCall, NodeFlow } from "./node-call.ts";

/** Queue that a ticket may be in. */
type TicketQueue = Readonly<{
  join: (ticket: NodeTicket, caller: string) => void;
  leave: (ticket: NodeTicket) => void;
}>;

/** Connection assigned to a ticket. */
type TicketConnection = Readonly<{ resume: (ticket: NodeTicket) => void; cancel: (ticket: NodeTicket) => void }>;

/** A call's position: in the queue until `waitsUntil`, then on a connection. The ticket lets the code that made the call control it. */
export class NodeTicket implements NodeFlow {
  readonly call: NodeCall;
  /** Deadline, on the pool's clock. */
  waitsUntil = 0;
  connection: TicketConnection | undefined;
  readonly #queue: TicketQueue;

  constructor(call: NodeCall, queue: TicketQueue) {
    this.call = call;
    this.#queue = queue;
  }

  resume(): void {
    this.connection?.resume(this);
  }

  join(caller: string): void {
    if (this.connection === undefined) this.#queue.join(this, caller);
  }

  cancel(): void {
    this.#queue.leave(this);
    this.connection?.cancel(this);
  }
}
