import type { Logger } from "#daemon/log/log.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { LatestEntries } from "../limits/latest-entries.ts";
import { BatchPiece, type BatchPieceOptions } from "./batch-piece.ts";
import type { NodeCall, NodeFlow, NodeSender } from "./node-call.ts";
import type { PieceCall } from "./piece-entry.ts";

/** Time for which a caller's batches stay small, or its calls alone, after the node did not serve one. */
const smallForMs = 60_000;
/** Callers for which that is remembered; one that is forgotten tries a whole batch again. */
const rememberedCallers = 1_000;

/**
 * The rest of one client's batch on its way to the node. From `gather` to `release` it waits for more, but for pieces that are full; at other
 * times all that is sent in one turn of the event loop goes together.
 */
export type NodeBatch = NodeSender &
  Readonly<{
    gather: () => void;
    release: () => void;
    /** Adds a call that is its own entry to a piece, which it returns. To be called while `items` is more than 1. */
    addPlain: (call: PieceCall) => BatchPiece;
  }>;

/** Turns the rest of clients' batches into batches to the node. */
export type NodeBatches = Readonly<{
  /** Returns the number of a caller's calls that go to the node together now; 1 while the node is known not to serve its batches. */
  items: (caller: string) => number;
  /** Begins a client's batch, which goes in pieces. */
  open: (caller: string) => NodeBatch;
}>;

export type NodeBatchesDependencies = Readonly<{
  pool: NodeSender;
  log: Logger;
  now: () => number;
  turns: SharedTurns;
}>;

/**
 * Creates the batches of one node. It remembers for a minute how much of a caller's batch the node did serve, by caller: a long answer,
 * a slow call or one that the node can't read makes nobody else's batches small. A node that takes no batches is tried
 * in vain once a minute by each caller who sends them.
 */
export function createNodeBatches(
  options: BatchPieceOptions,
  { pool, log, now, turns }: NodeBatchesDependencies,
): NodeBatches {
  const served = new LatestEntries<Readonly<{ items: number; until: number }>>(rememberedCallers);
  let quietUntil = Number.NEGATIVE_INFINITY;
  const items = (caller: string) => {
    const known = served.get(caller);
    return known !== undefined && now() < known.until ? known.items : options.items;
  };
  const limit = (caller: string, most: number) => {
    served.set(caller, { items: Math.max(1, Math.min(items(caller), most)), until: now() + smallForMs });
  };
  const refused = (caller: string, why: string) => {
    limit(caller, 1);
    if (now() < quietUntil) return;
    quietUntil = now() + smallForMs;
    log.warn(
      { event: "batch-not-served", why },
      "the node did not serve a batch: the calls of its caller's batches go to it alone for a minute",
    );
  };
  return {
    items,
    open: (caller) => {
      const ofCaller = {
        pool,
        turns,
        refused: (why: string) => refused(caller, why),
        cutAfter: (most: number) => limit(caller, most),
      };
      let piece: BatchPiece | undefined;
      let isGathering = false;
      const send = () => {
        const filled = piece;
        piece = undefined;
        filled?.send();
      };
      const findPiece = (id: string, bytes: number): BatchPiece => {
        if (piece?.hasRoomFor(id, bytes) === false) send();
        if (piece === undefined) {
          piece = new BatchPiece({ ...options, items: items(caller) }, ofCaller);
          if (!isGathering) queueMicrotask(send);
        }
        return piece;
      };
      return {
        send: (call: NodeCall): NodeFlow => {
          if (!call.repeatable || items(caller) === 1) return pool.send(call);
          return findPiece(call.id, call.body.length).add(call);
        },
        addPlain: (call: PieceCall) => {
          const found = findPiece(call.id, call.endsAt - call.startsAt);
          found.addPlain(call);
          return found;
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
