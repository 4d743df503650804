import type { Hex } from "#x402/hex.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

/** Verified payments with a maximum that are not settled yet: their payer must be able to pay the maximum of all of them together. */
export type Reservations = Readonly<{
  /** Reserves a payment's maximum until it expires, and returns the sum of the payer's reservations in its token, this one included. */
  add: (payment: SignedPayment) => bigint;
  release: (payment: Pick<SignedPayment, "id">) => void;
  /** Evicts the oldest reservations beyond the max. Called only for covered payments, so that a rejected one never evicts another. */
  trim: () => void;
}>;

type Reservation = Readonly<{ account: string; amount: bigint; untilSeconds: bigint }>;

/** Creates at most `entriesMax` reservations; evicts the oldest. */
export function createReservations(
  { entriesMax }: Readonly<{ entriesMax: number }>,
  { clock }: Readonly<{ clock: () => number }>,
): Reservations {
  const byPayment = new Map<Hex, Reservation>();
  const byAccount = new Map<string, Set<Hex>>();
  const release: Reservations["release"] = ({ id }) => {
    const account = byPayment.get(id)?.account;
    if (account === undefined) return;
    byPayment.delete(id);
    const ids = byAccount.get(account);
    ids?.delete(id);
    if (ids?.size === 0) byAccount.delete(account);
  };
  return {
    release,
    trim: () => {
      for (const oldest of byPayment.keys()) {
        if (byPayment.size <= entriesMax) return;
        release({ id: oldest });
      }
    },
    add: ({ id, asset, payer, max = 0n, authorization }) => {
      const account = `${asset} ${payer}`.toLowerCase();
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
