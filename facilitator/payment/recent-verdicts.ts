import type { Clock } from "#daemon/clock.ts";
import type { Hex } from "#x402/hex.ts";
import type { SignatureCheck, SignedPayment } from "#x402/signed-payment.ts";

/** Time for which the chain's verdict about a payment is valid. It is close to the block interval, and a seller's work between verify and settle is short. */
export const verdictFreshMs = 2_000;

/** Recent verdicts about verified payments, so that settling does not recheck the signature or the chain. */
export type RecentVerdicts = Readonly<{
  /** Checks the payer's signature: with a cached check of this exact signature, else with `recover`. */
  isSigned: SignatureCheck;
  /** Records that the chain, queried for a caller at that monotonic time, would accept the payment. */
  recordGood: (payment: SignedPayment, verifiedAtMs: number, caller?: string) => void;
  /** Returns whether the chain would have accepted the payment when a caller asked, however long ago. */
  wasGood: (payment: Pick<SignedPayment, "id">, caller: string) => boolean;
  /**
   * Returns whether the chain's verdict about a payment to settle is still valid. A verdict is valid once, and consuming it invalidates
   * those about the payer's other payments in the token, because together they may exceed the payer's balance.
   */
  acquireGood: (payment: SignedPayment) => boolean;
  /** Records that a settlement of the payer ended, which invalidates the chain's earlier verdicts. */
  forgetPayer: (payment: Pick<SignedPayment, "asset" | "payer">) => void;
}>;

/** Creates a cache of at most `entriesMax` payments that evicts the oldest first. */
export function createRecentVerdicts(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { monotonicMs }: Pick<Clock, "monotonicMs">,
): RecentVerdicts {
  /** Call data by payment; it contains the signature in canonical form. */
  const signed = new Map<Hex, Hex>();
  const payers = new Map<string, PayerVerdicts>();
  const good = new Map<string, true>();

  const forgetPayer: RecentVerdicts["forgetPayer"] = (payment) =>
    keepNewest(payers, namePayer(payment), { changedAtMs: monotonicMs(), verdicts: new Map() }, entriesMax);
  return {
    isSigned: ({ id, callData }, recover) => {
      if (signed.get(id) === callData) return true;
      if (!recover()) return false;
      keepNewest(signed, id, callData, entriesMax);
      return true;
    },
    wasGood: ({ id }, caller) => good.has(`${id} ${caller}`),
    recordGood: (payment, verifiedAtMs, caller = "") => {
      keepNewest(good, `${payment.id} ${caller}`, true, entriesMax);
      const name = namePayer(payment);
      const payer = payers.get(name) ?? { changedAtMs: undefined, verdicts: new Map<Hex, Verdict>() };
      // The verdict predates a settlement that started while the query was in flight.
      if (payer.changedAtMs !== undefined && verifiedAtMs <= payer.changedAtMs) return;
      const { contract, callData } = payment;
      keepNewest(payer.verdicts, payment.id, { contract, callData, atMs: verifiedAtMs }, verdictsPerPayerMax);
      keepNewest(payers, name, payer, entriesMax);
    },
    acquireGood: (payment) => {
      const verdict = payers.get(namePayer(payment))?.verdicts.get(payment.id);
      forgetPayer(payment);
      // The same payment may arrive with a different signature, amount or call data, which were not checked.
      const isSame = verdict?.callData === payment.callData && verdict.contract === payment.contract;
      return isSame && monotonicMs() - verdict.atMs < verdictFreshMs;
    },
    forgetPayer,
  };
}

/** Call that the chain would accept, and when it was asked. */
type Verdict = Readonly<{ contract: Hex; callData: Hex; atMs: number }>;

/** Verdicts about a payer's payments in one token, and the time at which its last settlement started or ended. */
type PayerVerdicts = Readonly<{ changedAtMs: number | undefined; verdicts: Map<Hex, Verdict> }>;

/** Settling one of a payer's payments invalidates the verdicts about the others, so few are worth caching. */
const verdictsPerPayerMax = 16;

/** Sets an entry of a map that retains only the newest `entriesMax` entries. */
export function keepNewest<K, V>(map: Map<K, V>, key: K, value: V, entriesMax: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= entriesMax) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

function namePayer({ asset, payer }: Pick<SignedPayment, "asset" | "payer">): string {
  return `${asset} ${payer}`.toLowerCase();
}
