import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Chain } from "../chain/chain.ts";
import type { FeeQuotes } from "../chain/fees.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { SignerWatch } from "../chain/signer-watch.ts";
import type { TransactionSigners } from "../chain/transaction-signer.ts";
import type { Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import type { Suspensions } from "../chain/suspensions.ts";
import type { FacilitatorSettings } from "../settings.ts";
import { createInFlightSettlements, type InFlightSettlement, type InFlightSettlements } from "./in-flight.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { auditSettlement, type Outcome } from "./settlement.ts";
import { createPayerFunds, type PayerFunds } from "./payer-funds.ts";
import { createPollLoop } from "./track/poll-loop.ts";
import { createSignerQueues, type SignerQueues } from "./submit/signer-queues.ts";
import { createTracker, type TrackerDependencies } from "./track/tracker.ts";

/** Settings for settlement. */
export type SettlingOptions = Readonly<{ settlement: FacilitatorSettings["settlement"]; chainId: number }>;

export type SettlingDependencies = Readonly<{
  ledger: Ledger;
  chain: Chain;
  fees: FeeQuotes;
  gas: GasLimits;
  signers: TransactionSigners;
  signerWatch: Pick<SignerWatch, "shortage" | "recordProblem" | "canPay">;
  clock: () => number;
  monotonicMs: () => number;
  pause: Pause;
  /** In the range [0, 1). */
  random: () => number;
  log: Logger;
  /** Canonical contracts that the chain has, by lowercase address; undefined until known. */
  contracts: () => ReadonlySet<string> | undefined;
  suspensions: Suspensions;
  audit?: AuditLog | undefined;
  recordMined?: TrackerDependencies["recordMined"];
}>;

/**
 * Signs, sends and tracks the transactions of all signers. Only one instance may run at a time, because it assigns the signers' nonces.
 * Disposal waits until signed transactions are sent; the next instance resumes settlements without an outcome.
 */
export type Settling = AsyncDisposable &
  Readonly<{
    book: InFlightSettlements;
    funds: PayerFunds;
    queues: Pick<SignerQueues, "submit" | "states">;
    /** Notifies of a new block. */
    onHead: () => void;
  }>;

/** Resumes the settlements that the ledger records as started: looks for their transactions, and resends missing ones. */
export async function startSettling(
  { settlement, chainId }: SettlingOptions,
  dependencies: SettlingDependencies,
): Promise<Settling> {
  const { ledger, log, audit } = dependencies;
  const unfinished = (await ledger.unfinished()).filter(({ attempts }) => attempts.length > 0);
  const book = createInFlightSettlements(dependencies);
  const funds = createPayerFunds(dependencies);
  /** Lowercase; at most the accepted tokens. */
  const loggingAssets = new Set<string>();
  const logsUses = (asset: Hex) => loggingAssets.has(asset.toLowerCase());
  const recordUses = (asset: Hex) => void loggingAssets.add(asset.toLowerCase());
  const onSent = () => poll.wake();
  const queues = createSignerQueues({ ...settlement, chainId }, { ...dependencies, book, logsUses, onSent });
  const network = `eip155:${chainId}`;
  const onOutcomes = async (outcomes: ReadonlyMap<InFlightSettlement, Outcome>) => {
    for (const [entry, outcome] of outcomes) audit?.add(auditSettlement(entry.settlement, outcome, network));
  };
  const tracker = createTracker(settlement, { ...dependencies, book, queues, onOutcomes, recordUses });
  const hasPending = () => book.all().some(({ attempts }) => attempts.length > 0);
  const poll = createPollLoop(
    { intervalMs: settlement.pollIntervalMs },
    { ...dependencies, hasWork: hasPending, poll: tracker.track },
  );
  for (const { settlement: begun, attempts } of unfinished) {
    funds.add(begun, book.add(begun, attempts).ended);
    for (const { signer, nonce } of attempts) queues.nonces.get(signer)?.hold(nonce);
  }
  const senders = new Set(unfinished.flatMap(({ attempts }) => attempts.map(({ signer }) => signer)));
  const removed = [...senders].filter((signer) => !queues.nonces.has(signer));
  if (removed.length > 0)
    log.warn(
      { event: "signers-removed", signers: removed },
      "transactions of removed signers are still in flight; they are tracked, but not replaced at a higher fee",
    );
  if (unfinished.length > 0) {
    log.info(
      { event: "settlements-resumed", settlements: unfinished.length },
      "resuming settlements that an earlier process started",
    );
    poll.wake();
  }
  return {
    book,
    funds,
    queues,
    onHead: () => {
      if (hasPending()) poll.wake();
    },
    [Symbol.asyncDispose]: async () => {
      await queues.idle();
      await poll[Symbol.asyncDispose]();
      await queues.idle();
    },
  };
}
