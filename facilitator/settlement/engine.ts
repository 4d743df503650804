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
import type { Ownership } from "./ownership.ts";
import type { Settler } from "./settler.ts";
import type { TrackerDependencies } from "./track/tracker.ts";
import type { Recorded } from "./settlement.ts";

/** Settings that settling depends on. */
export type EngineOptions = Pick<FacilitatorSettings, "settlement" | "ledger"> &
  Readonly<{
    chainId: number;
    /** Whether another process takes this one's place while it still serves: the two share the ledger. */
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
  /** From 0 up to 1. */
  random: () => number;
  signal: AbortSignal;
  log: Logger;
  audit?: AuditLog | undefined;
  noteMined?: TrackerDependencies["noteMined"];
}>;

/**
 * Everything that settling takes, put together. Disposing of it waits until what was signed has been sent, and closes the ledger;
 * what has no outcome by then is taken up at the next start, or by another replica.
 */
export type Engine = AsyncDisposable &
  Settler &
  Pick<Ownership, "noteVerified" | "forgetRefused"> &
  Readonly<{
    /** Reads the state and the owner of a payment's settlement; undefined if it was not begun. */
    progress: (payment: SignedPayment) => Promise<Recorded | undefined>;
    inFlight: () => number;
    /** Age of the oldest settlement under way here, in milliseconds; 0 when none is. */
    oldestMs: () => number;
    /** Undefined in a replica that does not settle now. */
    nextNonce: () => number | undefined;
    /** Notifies of a new block. */
    onHead: () => void;
    /** Whether the ledger can be used, from state. */
    readiness: () => ReadinessCheck;
    /** Leaves settling to another replica, at once and for good; what is requested here is put on record for it, and its outcome reported. */
    yieldTerm: () => Promise<void>;
  }>;
