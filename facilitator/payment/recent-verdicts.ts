import type { Clock } from "#daemon/clock.ts";
import type { Hex } from "#x402/hex.ts";
import type { SignatureCheck, SignedPayment } from "#x402/signed-payment.ts";

/** Time for which the chain's verdict about a payment counts. Blocks come about as often, and a seller's work between the two questions is short. */
export const verdictFreshMs = 2_000;

/** Verdicts about payments that were verified a moment ago, so that settling one checks neither its signature nor the chain a second time. */
export type RecentVerdicts = Readonly<{
  /** Checks the payer's signature: by an earlier check of this very signature, else by `recover`. */
  isSigned: SignatureCheck;
  /** Notes that the chain, queried at that time of the monotonic clock, would take the payment. */
  noteGood: (payment: SignedPayment, verifiedAtMs: number) => void;
  /**
   * Whether the chain's word about a payment that is to be settled still counts. It counts once, and what it said of the payer's other
   * payments in the token counts no more: together they may be more than the payer holds.
   */
  acquireGood: (payment: SignedPayment) => boolean;
  /** Notes that a settlement of the payer ended: what the chain answered before no longer counts. */
  forgetPayer: (payment: Pick<SignedPayment, "asset" | "payer">) => void;
}>;

/** Creates the memory of at most `entriesMax` payments; the oldest go first. */
export function createRecentVerdicts(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { monotonicMs }: Pick<Clock, "monotonicMs">,
): RecentVerdicts {
  /** Call data by payment: it holds the signature in its one form. */
  const signed = new Map<Hex, Hex>();
  const payers = new Map<string, PayerVerdicts>();

  const forgetPayer: RecentVerdicts["forgetPayer"] = (payment) =>
    keepNewest(payers, namePayer(payment), { changedAtMs: monotonicMs(), verifiedAtMs: new Map() }, entriesMax);
  return {
    isSigned: ({ id, callData }, recover) => {
      if (signed.get(id) === callData) return true;
      if (!recover()) return false;
      keepNewest(signed, id, callData, entriesMax);
      return true;
    },
    noteGood: (payment, verifiedAtMs) => {
      const name = namePayer(payment);
      const payer = payers.get(name) ?? { changedAtMs: undefined, verifiedAtMs: new Map<Hex, number>() };
      // The answer is older than the settlement that began while it was on its way.
      if (payer.changedAtMs !== undefined && verifiedAtMs <= payer.changedAtMs) return;
      keepNewest(payer.verifiedAtMs, payment.id, verifiedAtMs, verdictsPerPayerMax);
      keepNewest(payers, name, payer, entriesMax);
    },
    acquireGood: (payment) => {
      const verifiedAtMs = payers.get(namePayer(payment))?.verifiedAtMs.get(payment.id);
      forgetPayer(payment);
      return verifiedAtMs !== undefined && monotonicMs() - verifiedAtMs < verdictFreshMs;
    },
    forgetPayer,
  };
}

/** Verdicts about a payer's payments in one token, and the time at which the last settlement of one began or ended. */
type PayerVerdicts = Readonly<{ changedAtMs: number | undefined; verifiedAtMs: Map<Hex, number> }>;

/** Since settling one of a payer's payments ends what was said of the others, few are worth keeping. */
const verdictsPerPayerMax = 16;

/** Sets an entry of a map that keeps the newest ones, `entriesMax` at most. */
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
