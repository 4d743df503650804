import { FairSlots } from "#daemon/fair-shares.ts";
import type { SettleResult } from "#x402/payment-result.ts";
import type { Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import { ChainError } from "../../chain/chain-error.ts";
import type { SettlementContext } from "../context.ts";
import { createPollLoop, type Engine } from "../engine.ts";
import { respondTo } from "../ownership.ts";
import { toSettlement, type RecordedSettlement } from "../settlement.ts";
import {
  acquireSettlementSlot,
  createSettlementOverload,
  nonceUsed,
  waitWithinReceiptTimeout,
  type Settler,
} from "../settler.ts";
import { startCandidate } from "./leader-election.ts";
import type { SharedLedger } from "./shared-ledger.ts";

type CompletedRecord = Exclude<RecordedSettlement, { state: "begun" }>;

type WatchedSettlement = Readonly<{
  /** Final record, or `gone` if it no longer exists. Never rejects. */
  ended: Promise<CompletedRecord | "gone">;
  transaction: () => Hex | undefined;
  leave: () => void;
}>;

export type OutcomeWatch = ReturnType<typeof createOutcomeWatch>;

type Entry = {
  waits: number;
  transaction: Hex | undefined;
  end: (ended: CompletedRecord | "gone") => void;
  ended: Promise<CompletedRecord | "gone">;
};

/** Creates a watch that sends no queries while no caller waits. */
export function createOutcomeWatch(
  context: Pick<SettlementContext, "settlement" | "log" | "pause" | "random">,
  requests: Pick<SharedLedger["requests"], "states">,
) {
  const entries = new Map<Hex, Entry>();
  let waits = 0;

  const settle = (id: Hex, entry: Entry, recorded: RecordedSettlement | undefined): void => {
    if (recorded?.state === "begun") {
      entry.transaction = recorded.transaction ?? entry.transaction;
      return;
    }
    entries.delete(id);
    entry.end(recorded ?? "gone");
  };
  const poll = async (): Promise<void> => {
    // Copy the entries before the query, because its result may lack newer ones.
    const requestedIds = [...entries];
    const states = await requests.states(requestedIds.map(([id]) => id));
    for (const [id, entry] of requestedIds) if (entries.get(id) === entry) settle(id, entry, states.get(id));
  };
  const loop = createPollLoop(context.settlement.pollIntervalMs, { hasWork: () => entries.size > 0, poll }, context);

  const openEntry = (id: Hex): Entry => {
    const knownEntry = entries.get(id);
    if (knownEntry !== undefined) return knownEntry;
    const { promise: completion, resolve: end } = Promise.withResolvers<CompletedRecord | "gone">();
    const entry: Entry = { waits: 0, transaction: undefined, end, ended: completion };
    entries.set(id, entry);
    return entry;
  };
  return {
    watch: (id: Hex): WatchedSettlement => {
      const entry = openEntry(id);
      entry.waits += 1;
      waits += 1;
      loop.wake();
      return {
        ended: entry.ended,
        transaction: () => entry.transaction,
        leave: () => {
          entry.waits -= 1;
          waits -= 1;
          if (entry.waits === 0 && entries.get(id) === entry) entries.delete(id);
        },
      };
    },
    size: (): number => waits,
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  };
}

/**
 * Creates the settler of a replica: it checks a payment, records it as requested, and waits until the outcome is recorded by any replica.
 * Recorded requests are settled even if this process exits, so a caller without an outcome gets `pending`.
 */
export function createSharedSettler(
  context: SettlementContext,
  { requests, ownership }: Pick<SharedLedger, "requests" | "ownership">,
  {
    watch,
    onRequest,
  }: Readonly<{
    watch: OutcomeWatch;
    /** Notifies this process's settling part, if there is one. */ onRequest: () => void;
  }>,
): Settler & Pick<Engine, "callInFlight"> {
  const { check, clock } = context;
  const { inFlightMax } = context.settlement;
  const slots = new FairSlots(inFlightMax);
  const calls = new CallsInFlight();
  const onRecord = async ({ id }: SignedPayment) => (await requests.states([id])).get(id);
  return {
    settle: async (payment, caller) => {
      const { id } = payment;
      using _call = calls.add(payment);
      if (watch.size() >= inFlightMax) throw createSettlementOverload("all", inFlightMax);
      let state = await onRecord(payment);
      // Zero needs no transaction: if nothing is recorded, no settlement of another amount is in flight.
      if (state === undefined && payment.amount === 0n) return { state: "unused" };
      using _slot = state === undefined ? acquireSettlementSlot(slots, caller) : undefined;
      if (state === undefined) {
        const rejection = await check(payment);
        if (rejection === undefined) {
          if (!(await requests.add(toSettlement(payment, caller.owner, clock())))) {
            return { state: "rejected", rejection: nonceUsed };
          }
          onRequest();
        } else {
          // If another replica settled the payment between the two queries, the chain has rejected it as already paid.
          state = await onRecord(payment);
          if (state === undefined) return { state: "rejected", rejection };
        }
      }
      const isOwner = await ownership.acquire(id, caller.owner);
      if (state !== undefined && state.state !== "begun")
        return respondTo({ id, result: state, caller, isOwner }, ownership);
      const result = await waitForOutcome(payment, watch, context);
      if (result === "gone") return settleDeclined(payment, requests, context);
      // A request that could not be sent is deleted, and the next caller becomes the owner, so use the owner recorded with the outcome.
      // Without an outcome, the ledger decides whether another caller owns the settlement.
      const isTheirs =
        result.state === "pending"
          ? isOwner || (await onRecord(payment)) === undefined
          : isOwner && result.owner === caller.owner;
      return respondTo({ id, result, caller, isOwner: isTheirs }, ownership);
    },
    callInFlight: (id) => calls.get(id),
  };
}

/** Calls of the payments that this replica is settling, recorded or not. Other replicas' calls are known once recorded. */
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

async function waitForOutcome(
  { id }: SignedPayment,
  watch: OutcomeWatch,
  context: SettlementContext,
): Promise<CompletedRecord | Readonly<{ state: "pending"; transaction: Hex | "" }> | "gone"> {
  const watchedEntry = watch.watch(id);
  try {
    const outcome = await waitWithinReceiptTimeout(watchedEntry.ended, context);
    return outcome ?? { state: "pending", transaction: watchedEntry.transaction() ?? "" };
  } finally {
    watchedEntry.leave();
  }
}

/** Responds to a declined request. The chain may now reject the payment, because the payer's other payments have spent the balance. */
async function settleDeclined(
  payment: SignedPayment,
  requests: SharedLedger["requests"],
  { check }: SettlementContext,
): Promise<SettleResult> {
  const rejection = await check(payment);
  if (rejection !== undefined) return { state: "rejected", rejection };
  const why = (await requests.unsentReason(payment.id)) ?? "it was withdrawn";
  throw new ChainError("rejected", `the settlement could not be sent, nothing was charged: ${why}`);
}

/**
 * Starts the engine of one of several replicas. Each accepts payments, checks them and reports their outcome; only one, the leader, settles
 * for all of them, because the signers' nonces are sequential. Another one takes over when it fails. They communicate only through the
 * database.
 */
export function startSharedEngine(context: SettlementContext, sharedLedger: SharedLedger): Engine {
  const { requests } = sharedLedger;
  const candidate = startCandidate(context, sharedLedger);
  const watch = createOutcomeWatch(context, requests);
  const onRequest = () => candidate.term()?.wake();
  return {
    ...createSharedSettler(context, sharedLedger, { watch, onRequest }),
    progress: async ({ id }) => (await requests.states([id])).get(id),
    settling: () => candidate.term()?.settling,
    readiness: candidate.readiness,
    yieldTerm: async () => candidate[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await watch[Symbol.asyncDispose]();
      await candidate[Symbol.asyncDispose]();
    },
  };
}
