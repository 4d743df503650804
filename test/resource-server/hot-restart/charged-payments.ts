import { expect } from "vitest";
import { price } from "../../support/payments/replicated-market.ts";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import type { SupervisedMarketThatSettles, Supervised } from "./supervised-market.ts";

/** Expectations about a market's ledgers, logs and chain, for the payments since a given moment. */
export type ChargedPayments = Readonly<{
  /** Expects that every payment was charged once, and that the resource server's ledger and the chain agree. */
  expectChargedOnce: (count: number, endStates?: readonly string[]) => Promise<void>;
  /** Expects that the facilitator's ledger has this many settlements, all settled. */
  expectSettled: (count: number) => void;
  /** Expects this many payments in the logs of both. */
  expectLogged: (count: number) => Promise<void>;
}>;

type Row = Readonly<{ nonce: string; state: string }>;

/** Records the payments so far; expectations apply only to later ones. */
export async function watchPayments({
  chain,
  shop,
  facilitator,
}: SupervisedMarketThatSettles & Readonly<{ facilitator?: Supervised }>): Promise<ChargedPayments> {
  const payee = testAccount(2).address;
  const listClaims = () => shop.rows("SELECT nonce, state FROM claims") as readonly Row[];
  const listSettlements = () =>
    (facilitator?.rows("SELECT authorization_nonce AS nonce, state FROM settlement") ?? []) as readonly Row[];
  const countChanges = () => [countLogged(facilitator, "payment-settled"), countLogged(shop, "payment-charged")];
  const paidBefore = await chain.balanceOf(payee);
  const changesBefore = countChanges();
  const [claimed, settled] = [listClaims(), listSettlements()].map((rows) => new Set(rows.map(({ nonce }) => nonce)));
  return {
    expectChargedOnce: async (count, endStates = ["delivered"]) => {
      expect((await chain.balanceOf(payee)) - paidBefore).toBe(BigInt(count) * price);
      await until("all deliveries are recorded", generousMs, () => {
        const states = listNewStates(listClaims(), claimed);
        return states.length === count && states.every((state) => endStates.includes(state));
      });
    },
    expectSettled: (count) =>
      expect(listNewStates(listSettlements(), settled)).toEqual(Array<string>(count).fill("settled")),
    expectLogged: async (count) => {
      const expected = changesBefore.map((lines) => lines + count);
      await until("all changes are logged", generousMs, () =>
        countChanges().every((lines, at) => lines >= (expected[at] ?? 0)),
      );
      expect(countChanges()).toEqual(expected);
    },
  };
}

/** Lists the states of the new rows. */
function listNewStates(rows: readonly Row[], known: ReadonlySet<string> | undefined): readonly string[] {
  return rows.flatMap(({ nonce, state }) => (known?.has(nonce) ? [] : [state]));
}

/** Counts the log lines of an action, each of which is one payment. */
function countLogged(service: Supervised | undefined, action: string): number {
  return (service?.output() ?? "").split(`"action":"${action}"`).length - 1;
}
