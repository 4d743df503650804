import type { Logger } from "#daemon/log/log.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { retainNewest } from "#daemon/memoize.ts";
import { BatchPiece, type BatchPieceOptions } from "./batch-piece.ts";
import type { NodeCall, NodeFlow, NodeSender } from "./node-call.ts";
import type { PieceCall } from "./piece-entry.ts";

/** How long a caller's batches stay small, or its calls are sent alone, after the node failed to serve a batch. */
const smallForMs = 60_000;
/** Max number of callers for which a failure is remembered; a forgotten caller tries a whole batch again. */
const rememberedCallers = 1_000;

/** Sends the calls of a client's batch: between `gather` and `release` in full pieces, otherwise all calls of a tick together. */
export type NodeBatch = NodeSender &
  Readonly<{
    gather: () => void;
    release: () => void;
    /** Adds a call that serves as its own entry to a piece, and returns the piece. Call this only while `items` is greater than 1. */
    addUnbatched: (call: PieceCall) => BatchPiece;
  }>;

/** Builds batches for the node from calls in clients' batches. */
export type NodeBatches = Readonly<{
  /** Returns how many of a caller's calls may currently go to the node together; 1 while the node is known not to serve that caller's batches. */
  items: (caller: string) => number;
  open: (caller: string) => NodeBatch;
}>;

export type NodeBatchesDependencies = Readonly<{
  pool: NodeSender;
  log: Logger;
  now: () => number;
  turns: SharedTurns;
}>;

/**
 * Creates the batches for one node. Remembers for a minute, per caller, how much of a batch the node served, so that
 * one caller's long response, slow call or unparsable call does not shrink other callers' batches. If a node accepts no
 * batches, each caller that sends them causes one failed attempt per minute.
 */
export function createNodeBatches(
  options: BatchPieceOptions,
  { pool, log, now, turns }: NodeBatchesDependencies,
): NodeBatches {
  const servedItems = new Map<string, Readonly<{ items: number; until: number }>>();
  let quietUntil = Number.NEGATIVE_INFINITY;
  const items = (caller: string) => {
    const known = servedItems.get(caller);
    return known !== undefined && now() < known.until ? known.items : options.items;
  };
  const limit = (caller: string, most: number) => {
    const served = { items: Math.max(1, Math.min(items(caller), most)), until: now() + smallForMs };
    retainNewest(servedItems, caller, served, rememberedCallers);
  };
  const logRejection = (caller: string, why: string) => {
    limit(caller, 1);
    if (now() < quietUntil) return;
    quietUntil = now() + smallForMs;
    log.warn(
      { event: "batch-not-served", why },
      "the node failed to serve a batch; this caller's calls are sent one by one for a minute",
    );
  };
  return {
    items,
    open: (caller) => {
      const ofCaller = {
        pool,
        turns,
        rejected: (why: string) => logRejection(caller, why),
        cutAfter: (most: number) => limit(caller, most),
      };
      let piece: BatchPiece | undefined;
      let isGathering = false;
      const send = () => {
        const filledPiece = piece;
        piece = undefined;
        filledPiece?.send();
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
        addUnbatched: (call: PieceCall) => {
          const found = findPiece(call.id, call.endsAt - call.startsAt);
          found.addUnbatched(call);
          return found;
        },
        gather: () => {
          isGathering = true;
        },
        release: () => {
          isGathering = false;
          // The responses to one piece start the calls of the next one individually.
          if (piece !== undefined) queueMicrotask(send);
        },
      };
    },
  };
}
