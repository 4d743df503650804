import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Chain } from "../chain/chain.ts";
import type { FeeQuotes } from "../chain/fees.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { TransactionSigner } from "../chain/transaction-signer.ts";
import type { Pause } from "#daemon/time.ts";
import type { Refusal } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { FacilitatorSettings } from "../settings.ts";
import type { Suspensions } from "../payment/suspensions.ts";
import type { openLedgerStore } from "./ledger/open-ledger.ts";
import type { Ownership } from "./ownership.ts";
import type { Settler } from "./settler.ts";
import type { TrackerDependencies } from "./track/tracker.ts";
import type { Recorded } from "./settlement.ts";

/** Settings for settlement. */
export type EngineOptions = Pick<FacilitatorSettings, "settlement" | "ledger"> &
  Readonly<{
    chainId: number;
    /** Whether a hot restart runs another process next to this one; the two share the ledger. */
    isHandedOver?: boolean | undefined;
  }>;

export type EngineDependencies = Readonly<{
  chain: Chain;
  fees: FeeQuotes;
  gas: GasLimits;
  signer: TransactionSigner;
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  clock: () => number;
  monotonicMs: () => number;
  pause: Pause;
  /** In the range [0, 1). */
  random: () => number;
  signal: AbortSignal;
  log: Logger;
  /** Canonical contracts that the chain has, by lowercase address. */
  contracts: () => ReadonlySet<string>;
  suspensions: Suspensions;
  audit?: AuditLog | undefined;
  noteMined?: TrackerDependencies["noteMined"];
  /** Opens the ledger's database. Default: {@link openLedgerStore}. */
  openStore?: typeof openLedgerStore | undefined;
}>;

/**
 * Complete settlement engine. Disposal waits until signed transactions are sent, and closes the ledger; the next start, or another replica,
 * resumes settlements without an outcome.
 */
export type Engine = AsyncDisposable &
  Settler &
  Pick<Ownership, "noteVerified" | "forgetRefused"> &
  Readonly<{
    /** Reads the state and the owner of a payment's settlement; undefined if it has not started. */
    progress: (payment: SignedPayment) => Promise<Recorded | undefined>;
    inFlight: () => number;
    /** Returns the age of the oldest in-flight settlement here, in milliseconds; 0 if none. */
    oldestMs: () => number;
    /** Undefined in a replica that is not settling. */
    nextNonce: () => number | undefined;
    /** Notifies the engine of a new block. */
    onHead: () => void;
    /** Returns whether the ledger is usable, from cached state. */
    readiness: () => ReadinessCheck;
    /** Transfers settling to another replica, immediately and permanently; settlements requested here are recorded for it, and their outcomes reported. */
    yieldTerm: () => Promise<void>;
  }>;
