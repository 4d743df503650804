import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Chain } from "../chain/chain.ts";
import type { FeeQuotes } from "../chain/fees.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { SignerWatch } from "../chain/signer-watch.ts";
import type { TransactionSigners } from "../chain/transaction-signer.ts";
import type { Pause } from "#daemon/time.ts";
import type { Refusal } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { FacilitatorSettings } from "../settings.ts";
import type { Suspensions } from "../chain/suspensions.ts";
import type { Ownership } from "./ownership.ts";
import type { Settler } from "./settler.ts";
import type { SignerState } from "./submit/signer-queues.ts";
import type { TrackerDependencies } from "./track/tracker.ts";
import type { Recorded } from "./settlement.ts";

/** Settings for settlement. */
export type EngineOptions = Pick<FacilitatorSettings, "settlement"> &
  Readonly<{ chainId: number; firstChainId: number; compareIntervalMs: number }>;

export type EngineDependencies = Readonly<{
  chain: Chain;
  fees: FeeQuotes;
  gas: GasLimits;
  signers: TransactionSigners;
  signerWatch: Pick<SignerWatch, "shortage" | "recordProblem" | "canPay">;
  check: (payment: SignedPayment) => Promise<Refusal | undefined>;
  clock: () => number;
  monotonicMs: () => number;
  pause: Pause;
  /** In the range [0, 1). */
  random: () => number;
  signal: AbortSignal;
  log: Logger;
  /** Canonical contracts that the chain has, by lowercase address; undefined until known. */
  contracts: () => ReadonlySet<string> | undefined;
  suspensions: Suspensions;
  audit?: AuditLog | undefined;
  recordMined?: TrackerDependencies["recordMined"];
}>;

/**
 * Settlement engine of one network. Disposal waits until signed transactions are sent; the next start, or another replica, resumes
 * settlements without an outcome.
 */
export type Engine = AsyncDisposable &
  Settler &
  Pick<Ownership, "recordVerified" | "forgetRejected"> &
  Readonly<{
    /** Reads the state and the owner of a payment's settlement; undefined if it has not started. */
    progress: (payment: Pick<SignedPayment, "id">) => Promise<Recorded | undefined>;
    inFlight: () => number;
    /** Returns the age of the oldest in-flight settlement here, in milliseconds; 0 if none. */
    oldestMs: () => number;
    /** Undefined in a replica that is not settling. */
    signerStates: () => readonly SignerState[] | undefined;
    /** Notifies the engine of a new block. */
    onHead: () => void;
    /** Returns whether the ledger is usable, from cached state. */
    readiness: () => ReadinessCheck;
    /** Transfers settling to another replica, immediately and permanently; settlements requested here are recorded for it, and their outcomes reported. */
    yieldTerm: () => Promise<void>;
  }>;
