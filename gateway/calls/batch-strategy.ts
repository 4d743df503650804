import { isBad, type BadCall, type Call } from "../json-rpc/call.ts";
import type { CallGate, LoadGate, LoadRejection, QueueRequest } from "../limits/load-gate.ts";
import { isBatchable, isLimited } from "../policy.ts";
import type { PolicySettings, Tier } from "../settings/policy.ts";
import type { NodeBatch } from "../upstream/node-batches.ts";
import type { SharedTurns } from "../wire/shared-turns.ts";
import { type ResponseFlow, LateFlow } from "../responses/response-sink.ts";
import type { CallAccounting } from "./call-accounting.ts";

const concurrentNodeBatches = 4;

/** How the calls of a client's batch reach the node. */
export type BatchStrategy = Readonly<{
  /**
   * How many calls ahead of the first unanswered call this call may start. `inTurn`: it starts once all earlier calls are answered, and
   * later calls start once it is answered.
   */
  ahead: (call: Call | BadCall) => number | "inTurn";
  sender: NodeBatch;
  gate: CallGate;
  isGrouped: () => boolean;
  /** Sets the callback that continues the batch after `ahead` blocked all calls. */
  onResume: (resume: () => void) => void;
}>;

/**
 * Chooses how a batch's calls reach the node. Reads are grouped, in up to four node batches at a time. Heavy calls go alone,
 * `batchParallel` at a time, but never more than the caller's concurrency limit: otherwise a batch would reject its own calls.
 * Non-repeatable calls, mainly transactions, are sent in order: a node that receives the whole batch keeps that order, and transaction
 * nonces depend on it.
 */
export function chooseBatchStrategy({ policy, tier, key, context }: CallAccounting): BatchStrategy {
  const { nodeBatches } = context;
  const parallel = Math.min(policy.settings.limits.batchParallel, tier.concurrency);
  const batchedCalls = Math.max(parallel, nodeBatches.items(key) * Math.min(concurrentNodeBatches, parallel));
  const gate = new BatchGate(context.gate, Math.ceil(batchedCalls / parallel));
  return {
    sender: nodeBatches.open(key),
    gate,
    isGrouped: () => nodeBatches.items(key) > 1,
    onResume: (resume) => gate.onResume(resume),
    ahead: (call: Call | BadCall) => {
      if (gate.isWaiting) return 0;
      const method = isBad(call) ? undefined : policy.catalogue.get(call.method);
      if (method === undefined) return parallel;
      if (method.answeredBy === "node" && !method.repeatable) return "inTurn";
      // The gas of a call may make it heavy.
      const mayBeHeavy = method.limit?.kind === "gas" && !isBad(call) && isLimited(method, call.params ?? "");
      return isBatchable(policy, method, method.costUnits) && !mayBeHeavy ? batchedCalls : parallel;
    },
  };
}

/** Starts a response in its caller's scheduling round, unless the reader has disconnected by then. */
export function startInTurn(turns: SharedTurns, caller: string, begin: () => ResponseFlow): ResponseFlow {
  const flow = new LateFlow();
  turns.wait(caller, () => flow.begin(begin));
  return flow;
}

/**
 * Admits those calls of one client's batch that go to the node in batches. Each of the caller's in-flight slots that the batch takes covers
 * `callsPerSlot` calls. A batch without a slot waits for one in its caller's queue. A batch with slots waits only for its own calls; while
 * other batches wait, it releases all its slots but one as its calls end.
 */
class BatchGate implements CallGate {
  readonly #gate: LoadGate;
  readonly #callsPerSlot: number;
  readonly #waiting = new Set<(mayEnter: boolean) => void>();
  #leaveQueue: (() => void) | undefined;
  #isResuming = false;
  #slots = 0;
  #calls = 0;
  #resumed: (() => void) | undefined;

  constructor(gate: LoadGate, callsPerSlot: number) {
    this.#gate = gate;
    this.#callsPerSlot = callsPerSlot;
  }

  /** Whether calls of the batch are waiting: until they proceed, no other call starts. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  get isWaitingForOwn(): boolean {
    return this.#slots > 0;
  }

  onResume(resume: () => void): void {
    this.#resumed = resume;
  }

  enter(
    caller: string,
    tier: Tier,
    costUnits: number,
    overload: PolicySettings["overload"],
  ): LoadRejection | undefined {
    if (!this.#hasRoom(caller)) {
      const rejection = this.#gate.enter(caller, tier, costUnits, overload);
      if (rejection !== undefined) return rejection;
      this.#slots += 1;
    }
    this.#calls += 1;
    return undefined;
  }

  leave(caller: string, costUnits: number, overload: PolicySettings["overload"]): void {
    this.#calls -= 1;
    if (this.#calls <= (this.#slots - 1) * this.#callsPerSlot) {
      this.#slots -= 1;
      this.#gate.leave(caller, costUnits, overload);
    }
    if (!this.isWaiting || this.#leaveQueue !== undefined || this.#isResuming) return;
    this.#isResuming = true;
    queueMicrotask(() => this.#resume(true));
  }

  wait(request: QueueRequest, resume: (mayEnter: boolean) => void): (() => void) | undefined {
    if (!this.isWaitingForOwn && this.#leaveQueue === undefined) {
      this.#leaveQueue = this.#gate.wait(request, (mayEnter) => this.#resume(mayEnter));
      if (this.#leaveQueue === undefined) return undefined;
    }
    this.#waiting.add(resume);
    return () => {
      this.#waiting.delete(resume);
      if (!this.isWaiting) this.#leaveQueue?.();
    };
  }

  #hasRoom(caller: string): boolean {
    const ownSlots = this.#slots > 1 && this.#gate.hasWaiting(caller) ? this.#slots - 1 : this.#slots;
    return this.#calls < ownSlots * this.#callsPerSlot;
  }

  #resume(mayEnter: boolean): void {
    this.#isResuming = false;
    this.#leaveQueue = undefined;
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const resume of all) resume(mayEnter);
    this.#resumed?.();
  }
}
