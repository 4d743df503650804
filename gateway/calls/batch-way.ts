import { fallbackTier, type Caller } from "../callers/caller.ts";
import { isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import type { LoadGate } from "../limits/load-gate.ts";
import type { Policy } from "../policy.ts";
import type { NodeBatch, NodeBatches } from "../upstream/node-batches.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { AnswerFlow } from "../answers/answer-sink.ts";
import { isBatchable } from "./read-call.ts";
import type { BatchLimits } from "./batch.ts";
import type { CallContext } from "./call-context.ts";
import { LateFlow } from "./late-flow.ts";

/** Batches to the node that one client's batch may have in flight. */
const nodeBatchesAtOnce = 4;

/** Way of one client's batch to the node. */
export type BatchWay = Pick<BatchLimits, "ahead"> &
  Readonly<{ toNode: NodeBatch; batch: NonNullable<CallContext["batch"]>; isTogether: () => boolean }>;

/**
 * Chooses the way of a batch's calls to the node. Reads go together, in up to four batches at a time; heavy calls alone, `batchParallel` at a
 * time, and never more than the caller may have in flight, or a batch would refuse its own calls. What may be sent once only, transactions
 * above all, goes in its turn: a node that gets the whole batch keeps that order, and the nonces of transactions count on it.
 */
export function chooseBatchWay(
  { settings: { limits, overload }, tiers, catalogue }: Policy,
  { key, tierName }: Caller,
  { gate, nodeBatches }: Readonly<{ gate: LoadGate; nodeBatches: NodeBatches }>,
): BatchWay {
  const parallel = Math.min(limits.batchParallel, (tiers.get(tierName) ?? fallbackTier).concurrency);
  const toNode = nodeBatches.open(key);
  const together = nodeBatches.items(key) * Math.min(nodeBatchesAtOnce, parallel);
  return {
    toNode,
    isTogether: () => nodeBatches.items(key) > 1,
    batch: { sender: toNode, gate: createBatchGate(gate, parallel) },
    ahead: (call: Call | BadCall) => {
      const method = isBad(call) ? undefined : catalogue.get(call.method);
      if (method === undefined) return parallel;
      if (method.answeredBy === "node" && !method.repeatable) return "inTurn";
      return isBatchable(method, overload) ? Math.max(parallel, together) : parallel;
    },
  };
}

/** Begins an answer in its caller's turn, unless its reader is gone by then. */
export function beginInTurn(turns: SharedTurns, caller: string, begin: () => AnswerFlow): AnswerFlow {
  const flow = new LateFlow();
  turns.wait(caller, () => flow.begin(begin));
  return flow;
}

/**
 * Lets in the calls of one client's batch that go to the node in batches: up to `places` of them take a place among the calls in flight, the
 * other ones go with them. So a batch takes no more of its caller's places than if its calls went alone.
 */
function createBatchGate(gate: LoadGate, places: number): LoadGate {
  let taken = 0;
  let passengers = 0;
  return {
    callsInFlight: gate.callsInFlight,
    enter: (caller, tier, costUnits, overload) => {
      if (taken >= places) {
        passengers += 1;
        return undefined;
      }
      const refusal = gate.enter(caller, tier, costUnits, overload);
      if (refusal === undefined) taken += 1;
      return refusal;
    },
    leave: (caller, costUnits, overload) => {
      if (passengers > 0) {
        passengers -= 1;
        return;
      }
      taken -= 1;
      gate.leave(caller, costUnits, overload);
    },
  };
}
