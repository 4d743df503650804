import type { Logger } from "#daemon/log.ts";
import { BatchPiece, type BatchPieceOptions } from "./batch-piece.ts";
import type { NodeCall, NodeFlow, NodeSender } from "./node-call.ts";

/** How long batches stay small, or calls alone, after the node did not serve one. */
const smallForMs = 60_000;

/**
 * What is left of one client's batch on its way to the node. From `gather` to `release` it waits for more, but for pieces that are full; at other
 * times what is sent in one turn of the event loop goes together.
 */
export type NodeBatch = NodeSender & Readonly<{ gather: () => void; release: () => void }>;

/** Makes of what is left of clients' batches batches to the node. */
export type NodeBatches = Readonly<{
  /** Calls that go to the node together now; 1 while the node is known to take no batches. */
  items: () => number;
  /** Begins a client's batch, which goes in pieces. */
  open: () => NodeBatch;
}>;

/** Makes the batches of one node; it remembers for a minute how much of a batch the node did serve. */
export function makeNodeBatches(
  options: BatchPieceOptions,
  { pool, log, now }: Readonly<{ pool: NodeSender; log: Logger; now: () => number }>,
): NodeBatches {
  const served = { items: options.items, until: Number.NEGATIVE_INFINITY };
  const items = () => (now() < served.until ? served.items : options.items);
  const limit = (most: number) => {
    served.items = Math.max(1, Math.min(items(), most));
    served.until = now() + smallForMs;
  };
  const refused = (why: string) => {
    const isKnown = items() === 1;
    limit(1);
    if (!isKnown) log.warn({ why }, "the node did not serve a batch: calls in batches go to it alone for a minute");
  };
  return {
    items,
    open: () => {
      let piece: BatchPiece | undefined;
      let isGathering = false;
      const send = () => {
        const filled = piece;
        piece = undefined;
        filled?.send();
      };
      return {
        send: (call: NodeCall): NodeFlow => {
          if (!call.repeatable || items() === 1) return pool.send(call);
          if (piece?.hasRoomFor(call) === false) send();
          if (piece === undefined) {
            piece = new BatchPiece({ ...options, items: items() }, { pool, refused, cutAfter: limit });
            if (!isGathering) queueMicrotask(send);
          }
          return piece.add(call);
        },
        gather: () => {
          isGathering = true;
        },
        release: () => {
          isGathering = false;
          // The answers of one piece start the calls of the next one by one.
          if (piece !== undefined) queueMicrotask(send);
        },
      };
    },
  };
}
