import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Chain } from "../chain/chain.ts";
import type { FeeQuotes } from "../chain/fees.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { TransactionSigner } from "../chain/transaction-signer.ts";
import type { Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import { namePayment } from "#x402/scheme.ts";
import type { Suspensions } from "../payment/suspensions.ts";
import type { FacilitatorSettings } from "../settings.ts";
import { createInFlightBook, type InFlight, type InFlightBook } from "./in-flight.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { Outcome, Settlement } from "./settlement.ts";
import { createPayerFunds, type PayerFunds } from "./payer-funds.ts";
import { createNonceAllocator } from "./submit/nonces.ts";
import { createPollLoop } from "./track/poll-loop.ts";
import { createSendBatch } from "./submit/send-batch.ts";
import { createSubmitter, type Submitter } from "./submit/submitter.ts";
import { createTracker, type TrackerDependencies } from "./track/tracker.ts";

/** Settings for settlement. */
export type SettlingOptions = Readonly<{ settlement: FacilitatorSettings["settlement"]; chainId: number }>;

export type SettlingDependencies = Readonly<{
  ledger: Ledger;
  chain: Chain;
  fees: FeeQuotes;
  gas: GasLimits;
  signer: TransactionSigner;
  clock: () => number;
  monotonicMs: () => number;
  pause: Pause;
  /** In the range [0, 1). */
  random: () => number;
  log: Logger;
  /** Canonical contracts that the chain has, by lowercase address. */
  contracts: () => ReadonlySet<string>;
  suspensions: Suspensions;
  audit?: AuditLog | undefined;
  noteMined?: TrackerDependencies["noteMined"];
}>;

/**
 * Signs, sends and tracks the transactions of one signer. Only one instance may run at a time, because it assigns the signer's nonces.
 * Disposal waits until signed transactions are sent; the next instance resumes settlements without an outcome.
 */
export type Settling = AsyncDisposable &
  Readonly<{
    book: InFlightBook;
    funds: PayerFunds;
    submitter: Pick<Submitter, "submit">;
    nextNonce: () => number;
    /** Notifies of a new block. */
    onHead: () => void;
  }>;

/** Resumes the settlements that the ledger records as started: looks for their transactions, and resends missing ones. */
export async function startSettling(
  { settlement, chainId }: SettlingOptions,
  dependencies: SettlingDependencies,
): Promise<Settling> {
  const { ledger, signer, log, audit } = dependencies;
  const unfinished = (await ledger.unfinished()).filter(({ attempts }) => attempts.length > 0);
  const book = createInFlightBook(dependencies);
  const funds = createPayerFunds(dependencies);
  const nonces = createNonceAllocator();
  /** Lowercase; at most the accepted tokens. */
  const loggingAssets = new Set<string>();
  const logsUses = (asset: Hex) => loggingAssets.has(asset.toLowerCase());
  const noteUses = (asset: Hex) => void loggingAssets.add(asset.toLowerCase());
  const sendBatch = createSendBatch({ ...settlement, chainId }, { ...dependencies, book, nonces, logsUses });
  const submitter = createSubmitter(settlement, { book, log, sendBatch, onSent: () => poll.wake() });
  const network = `eip155:${chainId}`;
  const onOutcomes = async (outcomes: ReadonlyMap<InFlight, Outcome>) => {
    for (const [entry, outcome] of outcomes) audit?.add(auditSettlement(entry.settlement, outcome, network));
  };
  const { address, readGasLimit } = signer;
  const tracking = { ...dependencies, book, nonces, submitter, signer: address, readGasLimit, onOutcomes, noteUses };
  const tracker = createTracker(settlement, tracking);
  const hasPending = () => book.all().some(({ attempts }) => attempts.length > 0);
  const poll = createPollLoop(
    { intervalMs: settlement.pollIntervalMs },
    { ...dependencies, hasWork: hasPending, look: tracker.look },
  );
  for (const { settlement: begun, attempts } of unfinished) {
    funds.add(begun, book.add(begun, attempts).ended);
    for (const attempt of attempts) if (attempt.signer === signer.address) nonces.hold(attempt.nonce);
  }
  if (unfinished.length > 0) {
    log.info(
      { event: "settlements-taken-up", settlements: unfinished.length },
      "taking up settlements that were begun before",
    );
    poll.wake();
  }
  return {
    book,
    funds,
    submitter,
    nextNonce: nonces.next,
    onHead: () => {
      if (hasPending()) poll.wake();
    },
    [Symbol.asyncDispose]: async () => {
      await submitter.idle();
      await poll[Symbol.asyncDispose]();
      await submitter.idle();
    },
  };
}

/** Builds the audit entry of an ended settlement. */
function auditSettlement(
  { id, payer, payTo, asset, amount, authorizationNonce: nonce }: Settlement,
  outcome: Outcome,
  network: string,
): AuditEntry {
  const isSettled = outcome.state === "settled";
  return {
    action: isSettled ? "payment-settled" : "payment-failed",
    outcome: isSettled ? "success" : "failure",
    by: "facilitator",
    message: isSettled ? "A payment was settled on the chain." : "A payment was not settled.",
    ...(isSettled ? {} : { reason: `${outcome.reason}: ${outcome.message}` }),
    payment: namePayment({ network, asset, payer, nonce }),
    before: { state: "begun" },
    after: {
      state: outcome.state,
      settlement: id,
      transaction: outcome.transaction,
      payer: payer.toLowerCase(),
      payTo: payTo.toLowerCase(),
      asset: asset.toLowerCase(),
      amount: String(amount),
    },
  };
}
