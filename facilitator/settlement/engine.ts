import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { watchStore } from "#daemon/sql/store-watch.ts";
import { createBackoff, repeat, type Repetition } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { SettlementContext } from "./context.ts";
import type { Journal, Ledger } from "./ledger/ledger.ts";
import type { LedgerStore } from "./ledger/open-ledger.ts";
import type { Ownership } from "./ownership.ts";
import { createPayerFunds, type PayerFunds } from "./payer-funds.ts";
import { createInFlightSettlements, type InFlightSettlements, type RecordedSettlement } from "./settlement.ts";
import { createSettler, type Settler } from "./settler.ts";
import { createSignerQueues, type SignerQueues } from "./submit/signer-queues.ts";
import { createTracker } from "./track/tracker.ts";

/**
 * Signs, sends and tracks all signers' transactions. Only one instance may run at a time, because it assigns their nonces.
 * Disposal waits until signed transactions are sent; the next instance resumes settlements without an outcome.
 */
export type SettlementProcess = AsyncDisposable &
  Readonly<{ book: InFlightSettlements; funds: PayerFunds; queues: Pick<SignerQueues, "submit" | "states"> }>;

/** Resumes the settlements that the ledger records as started: looks for their transactions, and resends missing ones. */
export async function startSettlementProcess(context: SettlementContext, ledger: Journal): Promise<SettlementProcess> {
  const { log, settlement } = context;
  const unfinishedSettlements = (await ledger.unfinished()).filter(({ attempts }) => attempts.length > 0);
  const book = createInFlightSettlements(context);
  const funds = createPayerFunds(context);
  /** Accepted tokens whose receipts show which of several payments were executed, in lower case. */
  const loggingAssets = new Set<string>();
  const logsUses = (asset: Hex) => loggingAssets.has(asset.toLowerCase());
  const recordUses = (asset: Hex) => void loggingAssets.add(asset.toLowerCase());
  const queues = createSignerQueues(context, { ledger, book, logsUses, onSent: () => poll.wake() });
  const track = createTracker(context, { ledger, book, queues, recordUses });
  const hasPending = () => book.all().some(({ attempts }) => attempts.length > 0);
  const poll = createPollLoop(settlement.pollIntervalMs, { hasWork: hasPending, poll: track }, context);
  for (const { settlement: startedSettlement, attempts } of unfinishedSettlements) {
    funds.add(startedSettlement, book.add(startedSettlement, attempts).ended);
    for (const { signer, nonce } of attempts) queues.nonces.get(signer)?.hold(nonce);
  }
  const senders = new Set(unfinishedSettlements.flatMap(({ attempts }) => attempts.map(({ signer }) => signer)));
  const removedSigners = [...senders].filter((signer) => !queues.nonces.has(signer));
  if (removedSigners.length > 0)
    log.warn(
      { event: "signers-removed", signers: removedSigners },
      "transactions of removed signers are still in flight; they are tracked, but not replaced at a higher fee",
    );
  if (unfinishedSettlements.length > 0) {
    log.info(
      { event: "settlements-resumed", settlements: unfinishedSettlements.length },
      "resuming settlements that an earlier process started",
    );
    poll.wake();
  }
  return {
    book,
    funds,
    queues,
    [Symbol.asyncDispose]: async () => {
      await queues.idle();
      await poll[Symbol.asyncDispose]();
      await queues.idle();
    },
  };
}

/** Settlement engine of one network. After disposal, the next start or another replica resumes what is in flight. */
export type Engine = AsyncDisposable &
  Settler &
  Readonly<{
    progress: (payment: Pick<SignedPayment, "id">) => Promise<RecordedSettlement | undefined>;
    callInFlight: (id: Hex) => Hex | undefined;
    /** The settling part of the engine; undefined in a replica that is not settling. */
    settling: () => SettlementProcess | undefined;
    /** Returns whether the ledger is usable, from cached state. */
    readiness: () => ReadinessCheck;
    /**
     * Yields settlement to another replica, immediately and permanently; settlements requested here are recorded for that replica, and
     * their outcomes are still reported.
     */
    yieldTerm: () => Promise<void>;
  }>;

/** Starts the engine of a process with exclusive use of its ledger: requester and settler are the same process, and communicate in memory. */
export async function startSoleEngine(
  context: SettlementContext & Pick<LedgerStore, "store">,
  ledger: Ledger,
  ownership: Ownership,
): Promise<Engine> {
  await using resources = new AsyncDisposableStack();
  const settlementProcess = resources.use(await startSettlementProcess(context, ledger));
  const { readiness } = resources.use(watchStore(context.store, context));
  const { book } = settlementProcess;
  const ownedResources = resources.move();
  return {
    ...createSettler(context, { ...settlementProcess, ledger, ownership }),
    progress: async ({ id }) => {
      const inFlight = book.get(id);
      // Until the ledger has been read, the owner is the last caller, which may have sent a copy of a payment settled long ago.
      const isKnown = inFlight !== undefined && (inFlight.unrecorded || inFlight.signed);
      const recordedProgress = isKnown ? undefined : await ledger.progress(id);
      return recordedProgress ?? (inFlight && { state: "begun", owner: inFlight.owner });
    },
    callInFlight: (id) => book.get(id)?.settlement.callData,
    settling: () => settlementProcess,
    readiness,
    // No other process can use its ledger.
    yieldTerm: async () => undefined,
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}

/** Max interval, to which it doubles while checks fail. */
const failedIntervalMaxMs = 2_000;

/** Creates a polling loop shared by all waiters; it is idle while there are none, until it is woken. */
export function createPollLoop(
  intervalMs: number,
  { hasWork, poll }: Readonly<{ hasWork: () => boolean; poll: () => Promise<void> }>,
  { log, pause, random }: Pick<SettlementContext, "log" | "pause" | "random">,
): Repetition {
  const backoff = createBackoff({ initialMs: 2 * intervalMs, maxMs: failedIntervalMaxMs }, { random });
  let failures = 0;
  const check = async (): Promise<void> => {
    if (!hasWork()) return;
    await poll();
    if (failures > 0)
      log.info({ event: "settlements-tracked-again", failures }, "pending settlements are tracked again");
    failures = 0;
    backoff.reset();
  };
  const onFailure = (error: unknown): void => {
    failures += 1;
    if (failures === 1)
      log.warn({ event: "settlements-not-tracked", err: error }, "can't track pending settlements; retrying");
  };
  const waitMs = () => (failures === 0 ? intervalMs : backoff.nextMs());
  return repeat(check, { intervalMs: () => (hasWork() ? waitMs() : Infinity), failed: onFailure }, { pause });
}
