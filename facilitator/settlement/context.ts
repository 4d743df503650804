import type { AuditLog } from "#daemon/audit/audit-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { Pause } from "#daemon/time.ts";
import type { Hex } from "#x402/hex.ts";
import type { Rejection } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Chain, Receipt } from "../chain/chain.ts";
import type { FeeQuotes } from "../chain/fees.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import type { SignerWatch } from "../chain/signer-watch.ts";
import type { Suspensions } from "../chain/suspensions.ts";
import type { TransactionSigners } from "../chain/transaction-signer.ts";
import type { SettlementSettings } from "./settings.ts";
import type { InFlightSettlement } from "./settlement.ts";

export type SettlementContext = Readonly<{
  chainId: number;
  settlement: SettlementSettings;
  chain: Chain;
  fees: FeeQuotes;
  gas: GasLimits;
  signers: TransactionSigners;
  signerWatch: Pick<SignerWatch, "shortage" | "recordProblem" | "canPay">;
  suspensions: Suspensions;
  contracts: () => ReadonlySet<string> | undefined;
  clock: () => number;
  monotonicMs: () => number;
  pause: Pause;
  /** Random number in the range [0, 1). */
  random: () => number;
  /** Aborts when the process is stopping. */
  signal: AbortSignal;
  check: (payment: SignedPayment) => Promise<Rejection | undefined>;
  log: Logger;
  audit?: AuditLog | undefined;
  /**
   * Receives finished settlements before the ledger does, with the receipts of their mined transactions. After a fault, it may receive one
   * again.
   */
  recordMined?:
    | ((entries: readonly InFlightSettlement[], receipts: ReadonlyMap<Hex, Receipt>) => Promise<void>)
    | undefined;
}>;
