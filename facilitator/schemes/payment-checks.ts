import type { Hex } from "#x402/hex.ts";
import { approvesPermit2 } from "#x402/permit2.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Caller } from "../callers/caller.ts";
import type { CallLocation } from "../chain/call-lines.ts";
import { ChainError } from "../chain/chain-error.ts";
import type { Chain } from "../chain/chain.ts";
import type { GasLimits } from "../chain/gas-limits.ts";
import { readCover, refuseUncovered, type Cover } from "../chain/transfer-method.ts";
import { createWalletCheck, type WalletCheck } from "../chain/wallet-check.ts";
import { createRecentVerdicts, type RecentVerdicts } from "../payment/recent-verdicts.ts";
import { createReservations } from "../payment/reservations.ts";
import type { Suspensions } from "../payment/suspensions.ts";
import { checkOnChain } from "./chain-check.ts";

/** Checks of payments on the chain. Each throws {@link ChainError} when the node can't respond, or when nothing can be settled now. */
export type PaymentChecks = Readonly<{
  /** Returns why the chain would not accept a payment now, on behalf of a caller. */
  check: (payment: SignedPayment, caller: Caller) => Promise<Refusal | undefined>;
  /** The same for a payment about to be settled, unless it was just checked. */
  checkAgain: (payment: SignedPayment) => Promise<Refusal | undefined>;
  /** Returns why a signature that needs the payer's wallet is invalid. */
  checkWallet: (payment: Parameters<WalletCheck>[0], caller: Caller) => Promise<Refusal | undefined>;
  /** The same for a whole payment: a wallet that its settlement creates (ERC-6492) can't be asked before, and its simulation decides. */
  checkSigner: (payment: SignedPayment, caller: Caller) => Promise<Refusal | undefined>;
  /** Reserves a payment's maximum, or returns why the payer can't pay it. */
  reserve: (payment: SignedPayment, caller: Caller) => Promise<Refusal | undefined>;
  releaseReservation: (payment: SignedPayment) => void;
  /** Returns the result of a view method, on behalf of a caller. */
  read: (call: Parameters<Chain["read"]>[0], caller: Caller) => Promise<Hex>;
  recent: RecentVerdicts;
}>;

export type PaymentCheckDependencies = Readonly<{
  /** Creates the chain for calls in a line. */
  chainAt: (place: CallLocation) => Chain;
  gas: GasLimits;
  /** Returns why the signer can't pay for a settlement; undefined if it can. */
  shortage: () => string | undefined;
  suspensions: Pick<Suspensions, "refuse">;
  clock: () => number;
  monotonicMs: () => number;
}>;

const openApproval: Refusal = {
  reason: reason.permit2Allowance,
  message:
    "another payment of the payer waits for its settlement, and a signed approval serves one payment; approve Permit2 on the token.",
};

/** Creates the checks, which remember at most `entriesMax` payments. */
export function createPaymentChecks(
  limits: Readonly<{ entriesMax: number }>,
  { chainAt, gas, shortage, suspensions, clock, monotonicMs }: PaymentCheckDependencies,
): PaymentChecks {
  const recent = createRecentVerdicts(limits, { monotonicMs });
  const reservations = createReservations(limits, { clock });
  const askWallet = createWalletCheck(limits, { monotonicMs });
  const chainFor = ({ waiting }: Caller) => chainAt({ line: "verifying", caller: "", ...waiting });
  return {
    recent,
    check: async (payment, caller) => {
      // A payment reported as valid will be settled.
      const why = shortage();
      if (why !== undefined) throw new ChainError("refused", `nothing can be settled now: ${why}`);
      return suspensions.refuse(payment) ?? checkOnChain(payment, { chain: chainFor(caller), gas });
    },
    checkAgain: async (payment) => {
      const refusal = suspensions.refuse(payment);
      if (refusal !== undefined || recent.acquireGood(payment)) return refusal;
      return checkOnChain(payment, { chain: chainAt({ line: "settling", caller: "" }), gas });
    },
    checkWallet: (payment, caller) => askWallet(payment, chainFor(caller)),
    checkSigner: async (payment, caller) => {
      const chain = chainFor(caller);
      const refusal = await askWallet(payment, chain);
      const isCreated = refusal !== undefined && payment.contract === multicall3Address;
      return isCreated ? checkOnChain(payment, { chain, gas }) : refusal;
    },
    reserve: async (payment, caller) => {
      if (payment.max === undefined) return undefined;
      const amount = reservations.add(payment);
      if (amount > payment.max && approvesPermit2(payment.callData)) {
        reservations.release(payment);
        return openApproval;
      }
      let cover: Cover | undefined;
      try {
        cover = await readCover(payment, chainFor(caller));
      } finally {
        if (cover === undefined || cover.held < amount) reservations.release(payment);
        else reservations.trim();
      }
      return cover.held < amount ? refuseUncovered({ ...payment, amount }, cover) : undefined;
    },
    releaseReservation: reservations.release,
    read: (call, caller) => chainFor(caller).read(call),
  };
}
