import type { Logger } from "#daemon/log.ts";
import type { Chain } from "../chain/chain.ts";
import type { FeeQuotes } from "../chain/fees.ts";
import type { TransactionSigner } from "../chain/transaction-signer.ts";
import type { Refusal } from "../payment/reason.ts";
import type { SignedPayment } from "../payment/signed-payment.ts";
import type { FacilitatorSettings } from "../settings.ts";
import { createInFlightBook } from "./in-flight.ts";
import { openLedger } from "./ledger.ts";
import { createNonces } from "./nonces.ts";
import { createPollLoop } from "./poll-loop.ts";
import { startRetention } from "./retention.ts";
import { createSendBatch } from "./send-batch.ts";
import { createSettler, type Settler } from "./settler.ts";
import type { Outcome } from "./settlement.ts";
import { createSubmitter } from "./submitter.ts";
import { createTracker } from "./tracker.ts";

/** Settings that settling depends on. */
export type EngineOptions = Pick<FacilitatorSettings, "settlement" | "ledger"> & Readonly<{ chainId: number }>;

/** What the engine works with. */
export type EngineDependencies = Readonly<{
  chain: Chain;
  fees: FeeQuotes;
  signer: TransactionSigner;
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  clock: () => number;
  signal: AbortSignal;
  log: Logger;
}>;

/**
 * Everything that settling takes, put together. Disposing of it waits until what was signed has been sent, and closes the ledger;
 * what has no outcome by then is taken up at the next start.
 */
export type Engine = AsyncDisposable &
  Settler &
  Readonly<{
    /** How far the settlement of a payment is: under way, at its end, or not begun. */
    progress: (payment: SignedPayment) => "in_flight" | Outcome | undefined;
    inFlight: () => number;
    nextNonce: () => number;
    /** Tells that there is a new block. */
    onHead: () => void;
  }>;

/** Opens the ledger and takes up what it says was begun: its transactions are looked for, and sent again where they are missing. */
export function startEngine(
  { settlement, ledger: { path, retentionDays }, chainId }: EngineOptions,
  dependencies: EngineDependencies,
): Engine {
  const { chain, fees, signer, check, clock, signal, log } = dependencies;
  const ledger = openLedger({ path, chainId }, { clock });
  const retention = startRetention({ retentionDays }, { ledger, clock, log });
  const book = createInFlightBook();
  const nonces = createNonces();
  const sendBatch = createSendBatch(
    { ...settlement, chainId },
    { chain, ledger, fees, book, log, signer, nonces, clock },
  );
  const submitter = createSubmitter(settlement, { book, log, sendBatch, onSent: () => poll.wake() });
  const tracker = createTracker(settlement, {
    chain,
    ledger,
    book,
    nonces,
    submitter,
    signer: signer.address,
    clock,
    log,
  });
  const hasPending = () => book.all().some(({ attempts }) => attempts.length > 0);
  const poll = createPollLoop(
    { intervalMs: settlement.pollIntervalMs },
    { hasWork: hasPending, look: tracker.look, log },
  );
  const unfinished = ledger.unfinished();
  for (const { settlement: begun, attempts } of unfinished) {
    book.add(begun, attempts);
    for (const attempt of attempts) if (attempt.signer === signer.address) nonces.hold(attempt.nonce);
  }
  if (unfinished.length > 0) {
    log.info({ settlements: unfinished.length }, "taking up settlements that were begun before");
    poll.wake();
  }
  return {
    ...createSettler(settlement, { book, ledger, submitter, check, clock, signal }),
    progress: ({ id }) => (book.get(id) === undefined ? ledger.outcome(id) : "in_flight"),
    inFlight: book.size,
    nextNonce: nonces.next,
    onHead: () => {
      if (hasPending()) poll.wake();
    },
    [Symbol.asyncDispose]: async () => {
      await submitter.idle();
      await poll[Symbol.asyncDispose]();
      await submitter.idle();
      retention[Symbol.dispose]();
      ledger[Symbol.dispose]();
    },
  };
}
