import type { Clock } from "#daemon/clock.ts";
import { retainNewest } from "#daemon/memoize.ts";
import type { Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

/**
 * How long the chain's verdict about a payment is valid: about a block interval, because a seller usually settles soon after it verified.
 */
export const verdictFreshMs = 2_000;

export type RecentVerdicts = ReturnType<typeof createRecentVerdicts>;

export function createRecentVerdicts(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { monotonicMs }: Pick<Clock, "monotonicMs">,
) {
  /** Call data by payment; it contains the signature in canonical form. */
  const signedHashes = new Map<Hex, Hex>();
  const payers = new Map<string, PayerVerdicts>();
  const validPayments = new Map<string, true>();

  /** Records that a settlement by the payer ended, which invalidates the chain's earlier verdicts. */
  const forgetPayer = (payment: Pick<SignedPayment, "asset" | "payer">): void =>
    retainNewest(payers, namePayer(payment), { changedAtMs: monotonicMs(), verdicts: new Map() }, entriesMax);
  return {
    /** Checks the payer's signature: with a cached check of this exact signature, else with `recover`. */
    isSigned: ({ id, callData }: Pick<SignedPayment, "id" | "callData">, recover: () => boolean): boolean => {
      if (signedHashes.get(id) === callData) return true;
      if (!recover()) return false;
      retainNewest(signedHashes, id, callData, entriesMax);
      return true;
    },
    /** Returns whether the chain would have accepted the payment when a caller last verified it, however long ago. */
    wasGood: ({ id }: Pick<SignedPayment, "id">, caller: string): boolean => validPayments.has(`${id} ${caller}`),
    /** Records that the chain, queried for a caller at this monotonic time, would accept the payment. */
    recordGood: (payment: SignedPayment, verifiedAtMs: number, caller: string = ""): void => {
      retainNewest(validPayments, `${payment.id} ${caller}`, true, entriesMax);
      const name = namePayer(payment);
      const payer = payers.get(name) ?? { changedAtMs: undefined, verdicts: new Map<Hex, Verdict>() };
      // The verdict predates a settlement that started while the query was in flight.
      if (payer.changedAtMs !== undefined && verifiedAtMs <= payer.changedAtMs) return;
      const { contract, callData } = payment;
      retainNewest(payer.verdicts, payment.id, { contract, callData, atMs: verifiedAtMs }, verdictsPerPayerMax);
      retainNewest(payers, name, payer, entriesMax);
    },
    /**
     * Returns whether the chain's verdict about a payment to settle is still valid. A verdict can be used once; this invalidates the
     * verdicts about the payer's other payments in the token, because together they may exceed the balance.
     */
    acquireGood: (payment: SignedPayment): boolean => {
      const verdict = payers.get(namePayer(payment))?.verdicts.get(payment.id);
      forgetPayer(payment);
      // The same payment may arrive with a different signature, amount or call data, which were not checked.
      const isSame = verdict?.callData === payment.callData && verdict.contract === payment.contract;
      return isSame && monotonicMs() - verdict.atMs < verdictFreshMs;
    },
    forgetPayer,
  };
}

type Verdict = Readonly<{ contract: Hex; callData: Hex; atMs: number }>;

type PayerVerdicts = Readonly<{ changedAtMs: number | undefined; verdicts: Map<Hex, Verdict> }>;

/** Settling one of a payer's payments invalidates the verdicts about the others, so few are worth caching. */
const verdictsPerPayerMax = 16;

type Reservation = Readonly<{ account: string; amount: bigint; untilSeconds: bigint }>;

/**
 * Creates the reservations of verified but unsettled payments with a maximum: the payer must be able to pay the sum of their maximums.
 * Evicts the oldest entries beyond `entriesMax`.
 */
export function createReservations(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { clock }: Readonly<{ clock: () => number }>,
) {
  const byPayment = new Map<Hex, Reservation>();
  const byAccount = new Map<string, Set<Hex>>();
  const release = ({ id }: Pick<SignedPayment, "id">): void => {
    const account = byPayment.get(id)?.account;
    if (account === undefined) return;
    byPayment.delete(id);
    const ids = byAccount.get(account);
    ids?.delete(id);
    if (ids?.size === 0) byAccount.delete(account);
  };
  return {
    release,
    /** Evicts the oldest reservations beyond the max. Called only for covered payments, so that a rejected one never evicts another. */
    trim: (): void => {
      for (const oldestKey of byPayment.keys()) {
        if (byPayment.size <= entriesMax) return;
        release({ id: oldestKey });
      }
    },
    /** Reserves a payment's maximum until it expires, and returns the sum of the payer's reservations in its token, this one included. */
    add: ({ id, asset, payer, max = 0n, authorization }: SignedPayment): bigint => {
      const account = namePayer({ asset, payer });
      release({ id });
      byPayment.set(id, { account, amount: max, untilSeconds: authorization.validBefore });
      const ids = byAccount.get(account) ?? new Set();
      byAccount.set(account, ids.add(id));
      const nowSeconds = BigInt(Math.floor(clock() / 1_000));
      let sum = 0n;
      for (const each of ids) {
        const { amount, untilSeconds } = byPayment.get(each) ?? { amount: 0n, untilSeconds: 0n };
        if (untilSeconds < nowSeconds) release({ id: each });
        else sum += amount;
      }
      return sum;
    },
  };
}

function namePayer({ asset, payer }: Pick<SignedPayment, "asset" | "payer">): string {
  return `${asset} ${payer}`.toLowerCase();
}
