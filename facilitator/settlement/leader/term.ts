import { StoreError } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { repeat, type Repetition } from "#daemon/time.ts";
import type { Chain } from "../../chain/chain.ts";
import { ChainError, requireExecutionError } from "../../chain/chain-error.ts";
import type { InFlightSettlement } from "../settlement.ts";
import type { SettleResult } from "#x402/payment-result.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import { verdictFreshMs } from "../../verification/verified-payments.ts";
import type { Journal } from "../ledger/ledger.ts";
import type { SettlementContext } from "../context.ts";
import { startSettlementProcess, type SettlementProcess } from "../engine.ts";
import { TermEndedError, type LeaderLedger } from "./shared-ledger.ts";

/**
 * A period in which this replica settles. All its state comes from the database: when a write has an unknown outcome, the term ends, and
 * the next one, here or in another replica, reads the state again.
 */
export type Term = AsyncDisposable &
  Readonly<{
    settling: SettlementProcess;
    over: AbortSignal;
    wake: () => void;
    /** Ends the term without releasing its lease; nothing more is written. */
    lose: () => void;
  }>;

/** Starts a term with its ledger and requests, which can write only while it is active. */
export async function startLeaderTerm(context: SettlementContext, term: LeaderLedger): Promise<Term> {
  const end = new AbortController();
  let isLost = false;
  const lose = (): void => {
    isLost = true;
    end.abort();
  };
  const onFault = (error: unknown): void => {
    if (isFault(error)) lose();
  };
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    // The last write may have failed, so another write could contradict it.
    if (isLost) throw new TermEndedError();
    try {
      return await work();
    } catch (error) {
      onFault(error);
      throw error;
    }
  };
  const ledger = guardWrites(write, term.ledger);
  const decline: Requests["decline"] = (...declined) => write(() => term.requests.decline(...declined));
  const requests = { ...term.requests, decline };
  const chain: Chain = {
    ...context.chain,
    send: async (raw) => {
      // A write whose response was lost may have withdrawn the transaction that is about to be sent.
      if (isLost) throw new TermEndedError();
      return context.chain.send(raw);
    },
  };
  const settlementProcess = await startSettlementProcess({ ...context, chain }, ledger);
  const intake = startIntake(context, { requests, settlementProcess, onFault, over: end.signal });
  return {
    settling: settlementProcess,
    over: end.signal,
    wake: intake.wake,
    lose,
    [Symbol.asyncDispose]: async () => {
      end.abort();
      await intake[Symbol.asyncDispose]();
      await settlementProcess[Symbol.asyncDispose]();
    },
  };
}

function isFault(error: unknown): boolean {
  return error instanceof StoreError || error instanceof TermEndedError;
}

/** Runs a ledger query unless the term is lost, and detects its loss. */
type Write = <T>(work: () => Promise<T>) => Promise<T>;

function guardWrites(write: Write, ledger: Journal): Journal {
  return {
    begin: (batch) => write(() => ledger.begin(batch)),
    finish: (outcomes) => write(() => ledger.finish(outcomes)),
    withdraw: (attempt) => write(() => ledger.withdraw(attempt)),
    unfinished: () => write(() => ledger.unfinished()),
  };
}

type Requests = LeaderLedger["requests"];

type IntakeParts = Readonly<{
  requests: Requests;
  settlementProcess: SettlementProcess;
  onFault: (error: unknown) => void;
  over: AbortSignal;
}>;

/** Moves requests from the database to the signer's queue, and reports those that could not be sent to the database. */
function startIntake(
  context: SettlementContext,
  { requests, settlementProcess, onFault, over }: IntakeParts,
): Repetition {
  const { suspensions, gas, clock, log } = context;
  const { book, funds, queues } = settlementProcess;
  const { pollIntervalMs, inFlightMax } = context.settlement;
  /** Declined requests that still appear as new, because their decline is not recorded yet. */
  const leavingIds = new Set<Hex>();

  const declineUnsent = async (id: Hex, end: SettleResult | Error): Promise<void> => {
    if (!(end instanceof Error) || isFault(end)) return;
    leavingIds.add(id);
    try {
      await requests.decline(id, end.message);
    } finally {
      leavingIds.delete(id);
    }
  };
  const simulate = async ({ settlement }: InFlightSettlement): Promise<Rejection | undefined> => {
    const gasResult = await gas.simulate(settlement, context.chain);
    if (gasResult.ok) return undefined;
    requireExecutionError(gasResult.error);
    return { reason: reason.transaction, message: gasResult.error.message };
  };
  const submitCovered = async (entry: InFlightSettlement): Promise<void> => {
    const { settlement } = entry;
    using spending = funds.open(settlement);
    try {
      // The payment was checked by another replica, or by this one before it became the leader.
      const isSimulated = gas.find(settlement) === undefined || clock() - settlement.begunAtMs >= verdictFreshMs;
      const recheck = () => simulate(entry);
      const rejection =
        (await suspensions.reject(settlement, context.chain)) ??
        (isSimulated ? await recheck() : undefined) ??
        (await spending.reserve(entry.ended, { isSimulated, recheck }));
      if (over.aborted) return;
      if (rejection === undefined) queues.submit([entry]);
      else book.end(entry, new ChainError("rejected", rejection.message));
    } catch (error) {
      book.end(entry, error instanceof Error ? error : new Error(String(error)));
    }
  };
  const adoptRequests = async (): Promise<void> => {
    const knownIds = new Set(book.all().map(({ settlement }) => settlement.id));
    const room = inFlightMax - knownIds.size;
    if (room <= 0 || over.aborted) return;
    // Skip requests that this process already knew before the query: the result may be outdated, and they may have been sent since.
    for (const settlement of await requests.waiting(room + knownIds.size)) {
      const { id } = settlement;
      if (knownIds.has(id) || leavingIds.has(id)) continue;
      const entry = book.add(settlement, []);
      void entry.ended.then((end) => declineUnsent(id, end)).catch(onFault);
      void submitCovered(entry);
    }
  };
  const onFailure = (error: unknown): void => {
    if (!isFault(error))
      log.error({ event: "settlements-not-resumed", err: error }, "settlement requests can't be resumed; retrying");
    onFault(error);
  };
  return repeat(adoptRequests, { intervalMs: pollIntervalMs, failed: onFailure }, context);
}
