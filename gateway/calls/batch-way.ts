import { fallbackTier, type Caller } from "../callers/caller.ts";
import { isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import { mayNameGas } from "../limits/call-gas.ts";
import type { CallGate, LoadGate, LoadRefusal } from "../limits/load-gate.ts";
import type { Policy } from "../policy.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";
import type { NodeBatch, NodeBatches } from "../upstream/node-batches.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import type { AnswerFlow } from "../answers/answer-sink.ts";
import { isBatchable } from "./read-call.ts";
import type { BatchLimits } from "./batch.ts";
import type { CallContext } from "./call-context.ts";
import { LateFlow } from "./call-end.ts";

/** Batches to the node that one client's batch may have in flight. */
const nodeBatchesAtOnce = 4;

/** Way of one client's batch to the node. */
export type BatchWay = Pick<BatchLimits, "ahead"> &
  Readonly<{
    toNode: NodeBatch;
    batch: NonNullable<CallContext["batch"]>;
    isTogether: () => boolean;
    /** Sets what goes on with the batch after `ahead` let no call start. */
    onResume: (goOn: () => void) => void;
  }>;

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
  const together = Math.max(parallel, nodeBatches.items(key) * Math.min(nodeBatchesAtOnce, parallel));
  const batchGate = new BatchGate(gate, Math.ceil(together / parallel));
  return {
    toNode,
    isTogether: () => nodeBatches.items(key) > 1,
    batch: { sender: toNode, gate: batchGate },
    onResume: (goOn) => batchGate.onResume(goOn),
    ahead: (call: Call | BadCall) => {
      if (batchGate.isWaiting) return 0;
      const method = isBad(call) ? undefined : catalogue.get(call.method);
      if (method === undefined) return parallel;
      if (method.answeredBy === "node" && !method.repeatable) return "inTurn";
      // Gas that a call names may make it heavy.
      const mayBeHeavy = method.limit?.kind === "gas" && !isBad(call) && mayNameGas(call.params ?? "");
      return isBatchable(method, overload) && !mayBeHeavy ? together : parallel;
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
 * Lets in the calls of one client's batch that go to the node in batches: each place that the batch takes among its caller's calls in flight
 * carries `callsPerPlace` of them. A batch without a place waits for one in its caller's queue. One that has places waits for its own calls only,
 * and leaves all places but one, as its calls end, to others that wait.
 */
class BatchGate implements CallGate {
  readonly #gate: LoadGate;
  readonly #callsPerPlace: number;
  readonly #waiting = new Set<(mayEnter: boolean) => void>();
  #leaveQueue: (() => void) | undefined;
  #hasGivenUp = false;
  #isResuming = false;
  #places = 0;
  #calls = 0;
  #resumed: (() => void) | undefined;

  constructor(gate: LoadGate, callsPerPlace: number) {
    this.#gate = gate;
    this.#callsPerPlace = callsPerPlace;
  }

  /** Whether calls of the batch wait: until then no other starts. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Sets what goes on with the batch after calls waited. */
  onResume(goOn: () => void): void {
    this.#resumed = goOn;
  }

  enter(caller: string, tier: Tier, costUnits: number, overload: PolicySettings["overload"]): LoadRefusal | undefined {
    if (!this.#hasRoom(caller)) {
      const refusal = this.#gate.enter(caller, tier, costUnits, overload);
      if (refusal !== undefined) return refusal;
      this.#places += 1;
    }
    this.#calls += 1;
    return undefined;
  }

  leave(caller: string, costUnits: number, overload: PolicySettings["overload"]): void {
    this.#calls -= 1;
    if (this.#calls <= (this.#places - 1) * this.#callsPerPlace) {
      this.#places -= 1;
      this.#gate.leave(caller, costUnits, overload);
    }
    if (!this.isWaiting || this.#leaveQueue !== undefined || this.#isResuming) return;
    this.#isResuming = true;
    queueMicrotask(() => this.#resume(true));
  }

  wait(
    caller: string,
    tier: Tier,
    overload: PolicySettings["overload"],
    proceed: (mayEnter: boolean) => void,
  ): (() => void) | undefined {
    if (this.#places === 0 && this.#leaveQueue === undefined) {
      if (this.#hasGivenUp) return undefined;
      this.#leaveQueue = this.#gate.wait(caller, tier, overload, (mayEnter) => this.#resume(mayEnter));
      if (this.#leaveQueue === undefined) return undefined;
    }
    this.#waiting.add(proceed);
    return () => {
      this.#waiting.delete(proceed);
      if (!this.isWaiting) this.#leaveQueue?.();
    };
  }

  #hasRoom(caller: string): boolean {
    const places = this.#places > 1 && this.#gate.isAwaited(caller) ? this.#places - 1 : this.#places;
    return this.#calls < places * this.#callsPerPlace;
  }

  #resume(mayEnter: boolean): void {
    this.#isResuming = false;
    this.#leaveQueue = undefined;
    // The others need not wait as long again each.
    this.#hasGivenUp ||= !mayEnter;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const proceed of all) proceed(mayEnter);
    this.#resumed?.();
  }
}
