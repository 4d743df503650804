import type { Hex } from "#x402/hex.ts";
import type { SettleAnswer } from "#x402/answer.ts";
import type { Refusal } from "#x402/reason.ts";
import { FairSlots } from "#daemon/fair-shares.ts";
import type { Pause } from "#daemon/time.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { ChainError } from "../../chain/chain-error.ts";
import { respondTo, type Ownership } from "../ownership.ts";
import { toSettlement } from "../settlement.ts";
import {
  nonceUsed,
  type Settler,
  type SettlerOptions,
  waitWithinReceiptTimeout,
  acquireSettlementSlot,
  createSettlementOverload,
} from "../settler.ts";
import type { Engine, EngineDependencies, EngineOptions } from "../engine.ts";
import { type CompletedRecord, type OutcomeWatch, createOutcomeWatch } from "./outcome-watch.ts";
import type { Requests } from "./requests.ts";
import { startCandidate } from "./leader-election.ts";
import type { SharedLedger } from "./shared-ledger.ts";

export type SharedSettlerDependencies = Readonly<{
  requests: Pick<Requests, "add" | "states" | "unsentReason">;
  watch: OutcomeWatch;
  ownership: Ownership;
  /** Returns whether the chain would accept the payment now. */
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  /** Notifies the settling part of this process, if there is one. */
  onRequest: () => void;
  clock: () => number;
  pause: Pause;
  /** Aborts when the process is stopping. */
  signal: AbortSignal;
}>;

/**
 * Creates the settler of a replica: it checks a payment, records it as requested, and waits until the outcome is recorded by any replica.
 * Recorded requests are settled even if this process exits meanwhile, so a caller whose outcome is not available gets `pending`.
 */
export function createSharedSettler(
  options: SettlerOptions,
  dependencies: SharedSettlerDependencies,
): Settler & Pick<Engine, "callInFlight"> {
  const { requests, watch, ownership, check, onRequest, clock } = dependencies;
  const slots = new FairSlots(options.inFlightMax);
  const calls = new CallsInFlight();
  const onRecord = async ({ id }: SignedPayment) => (await requests.states([id])).get(id);
  return {
    settle: async (payment, caller) => {
      const { id } = payment;
      using _call = calls.add(payment);
      if (watch.size() >= options.inFlightMax) throw createSettlementOverload("all", options.inFlightMax);
      let state = await onRecord(payment);
      using _slot = state === undefined ? acquireSettlementSlot(slots, caller) : undefined;
      if (state === undefined) {
        const refusal = await check(payment);
        if (refusal === undefined) {
          if (!(await requests.add(toSettlement(payment, caller.owner, clock())))) {
            return { state: "refused", refusal: nonceUsed };
          }
          onRequest();
        } else {
          // Another replica may have settled it between the two queries; the chain then rejects an already paid payment.
          state = await onRecord(payment);
          if (state === undefined) return { state: "refused", refusal };
        }
      }
      const isOwner = await ownership.acquire(id, caller.owner);
      if (state !== undefined && state.state !== "begun")
        return respondTo({ id, answer: state, caller, isOwner }, ownership);
      const answer = await waitFor(payment, options, dependencies);
      if (answer === "gone") return answerDeclined(payment, dependencies);
      // A request that could not be sent is removed from the record, and the next caller owns it: what matters is the owner of the outcome.
      // Until there is one, another caller owns it only if it is recorded.
      const isTheirs =
        answer.state === "pending"
          ? isOwner || (await onRecord(payment)) === undefined
          : isOwner && answer.owner === caller.owner;
      return respondTo({ id, answer, caller, isOwner: isTheirs }, ownership);
    },
    callInFlight: (id) => calls.get(id),
  };
}

/** Calls of the payments that this replica is settling, also before they are recorded. Those of other replicas are known once recorded. */
class CallsInFlight {
  readonly #calls = new Map<Hex, { callData: Hex; copies: number }>();

  get(id: Hex): Hex | undefined {
    return this.#calls.get(id)?.callData;
  }

  /** Adds a payment's call, until disposed of: several copies of the payment may be in flight. */
  add({ id, callData }: Pick<SignedPayment, "id" | "callData">): Disposable {
    const call = this.#calls.get(id) ?? { callData, copies: 0 };
    this.#calls.set(id, call);
    call.copies += 1;
    return {
      [Symbol.dispose]: () => {
        call.copies -= 1;
        if (call.copies === 0) this.#calls.delete(id);
      },
    };
  }
}

async function waitFor(
  { id }: SignedPayment,
  options: SettlerOptions,
  { watch, ...wait }: SharedSettlerDependencies,
): Promise<CompletedRecord | Readonly<{ state: "pending"; transaction: Hex | "" }> | "gone"> {
  const watched = watch.watch(id);
  try {
    const ended = await waitWithinReceiptTimeout(watched.ended, options, wait);
    return ended ?? { state: "pending", transaction: watched.transaction() ?? "" };
  } finally {
    watched.leave();
  }
}

/** Responds to a declined request: by now the chain may reject the payment, because the payer's other payments have spent the balance. */
async function answerDeclined(
  payment: SignedPayment,
  { requests, check }: SharedSettlerDependencies,
): Promise<SettleAnswer> {
  const refusal = await check(payment);
  if (refusal !== undefined) return { state: "refused", refusal };
  const why = (await requests.unsentReason(payment.id)) ?? "it was withdrawn";
  throw new ChainError("refused", `the settlement could not be sent, nothing was charged: ${why}`);
}

/**
 * Starts the engine of one of several replicas. Each accepts payments, checks them and reports their outcome; one at a time settles for
 * all, because the signers' nonces are sequential, and another takes over when it fails. They communicate only through the database.
 */
export function startSharedEngine(
  options: EngineOptions,
  dependencies: EngineDependencies & Readonly<{ shared: SharedLedger }>,
): Engine {
  const { shared } = dependencies;
  const { requests, ownership } = shared;
  const candidate = startCandidate(options, dependencies);
  const intervalMs = options.settlement.pollIntervalMs;
  const watch = createOutcomeWatch({ intervalMs }, { ...dependencies, requests });
  const onRequest = () => candidate.term()?.wake();
  return {
    ...createSharedSettler(options.settlement, { ...dependencies, requests, ownership, watch, onRequest }),
    recordVerified: ownership.recordVerified,
    forgetRejected: ownership.forgetRejected,
    progress: async ({ id }) => (await requests.states([id])).get(id),
    inFlight: () => candidate.term()?.settling.book.size() ?? 0,
    oldestMs: () => candidate.term()?.settling.book.oldestMs() ?? 0,
    signerStates: () => candidate.term()?.settling.queues.states(),
    readiness: candidate.readiness,
    yieldTerm: async () => candidate[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await watch[Symbol.asyncDispose]();
      await candidate[Symbol.asyncDispose]();
    },
  };
}
