import type { Clock } from "#daemon/clock.ts";
import type { Hex } from "#x402/hex.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Chain } from "../chain/chain.ts";
import { encodeBalanceOfCall } from "../chain/token.ts";

/** The part of a settlement that takes from its payer's balance. */
export type Spending = Readonly<{ asset: Hex; payer: Hex; amount: bigint }>;

/** A settlement that is judged; disposing of it ends that. */
export type JudgedSpending = Disposable &
  Readonly<{
    /**
     * Waits until the payer's balance covers the amount next to the payer's other settlements in flight, and adds it to these until `ended`
     * resolves. Returns a refusal, and adds nothing, if none of them is left and the balance covers it no more. `isSimulated` says that the chain
     * would have taken the payment at some time since it was opened: then nothing is read for a payer without others.
     *
     * @throws {ChainError} when the node can't say.
     */
    reserve: (ended: Promise<unknown>, options?: Readonly<{ isSimulated: boolean }>) => Promise<Refusal | undefined>;
  }>;

/** The amounts of settlements in flight, added up by payer and token: each alone passes a simulation, and only the first of them is paid. */
export type PayerFunds = Readonly<{
  /** Opens an account for a settlement that is about to be judged. */
  open: (spending: Spending) => JudgedSpending;
  /** Adds a settlement whose transaction was sent before, until it ends. */
  add: (spending: Spending, ended: Promise<unknown>) => void;
}>;

/** Time for which a balance is good for more settlements; what was spent of it since is subtracted. */
const balanceFreshMs = 2_000;

/** One payer's settlements in one token. */
type Account = {
  /** Settlements that are judged or in flight; the account is forgotten without any. */
  holders: number;
  reserved: bigint;
  /** Number of settlements that ended. */
  ends: number;
  /** Resolves when the next one ends. */
  nextEnd: PromiseWithResolvers<void>;
  balance: Balance | undefined;
};

/** A balance as it was read, what may have been spent since the reading began, and when that was. */
type Balance = { readonly held: Promise<bigint>; readonly atMs: number; readonly ends: number; spent: bigint };

/** Creates the sums, with nothing in flight. */
export function createPayerFunds({
  chain,
  monotonicMs,
}: Readonly<{ chain: Pick<Chain, "read"> }> & Pick<Clock, "monotonicMs">): PayerFunds {
  const accounts = new Map<string, Account>();

  const hold = ({ asset, payer }: Spending): Readonly<{ account: Account; release: () => void }> => {
    const name = `${asset} ${payer}`.toLowerCase();
    const account = accounts.get(name) ?? createAccount();
    accounts.set(name, account);
    account.holders += 1;
    const release = () => {
      account.holders -= 1;
      if (account.holders === 0) accounts.delete(name);
    };
    return { account, release };
  };

  const add: PayerFunds["add"] = (spending, ended) => {
    const { account, release } = hold(spending);
    account.reserved += spending.amount;
    void ended.finally(() => {
      account.reserved -= spending.amount;
      account.ends += 1;
      if (account.balance !== undefined) account.balance.spent += spending.amount;
      account.nextEnd.resolve();
      account.nextEnd = Promise.withResolvers();
      release();
    });
  };

  const readBalance = ({ asset, payer }: Spending, account: Account): Balance => {
    const held = chain
      .read({ to: asset, data: encodeBalanceOfCall(payer) })
      .then((word) => (word === "0x" ? 0n : BigInt(word)));
    const read: Balance = { held, atMs: monotonicMs(), ends: account.ends, spent: 0n };
    account.balance = read;
    held.catch(() => {
      if (account.balance === read) account.balance = undefined;
    });
    return read;
  };

  return {
    add,
    open: (spending) => {
      const { account, release } = hold(spending);
      const endsBefore = account.ends;
      return {
        reserve: async (ended, { isSimulated } = { isSimulated: false }) => {
          const isAlone = account.reserved === 0n && account.ends === endsBefore;
          if (isSimulated && isAlone) return void add(spending, ended);
          const sinceMs = monotonicMs();
          for (;;) {
            const known = account.balance;
            const isFresh = known !== undefined && monotonicMs() - known.atMs < balanceFreshMs;
            const balance = isFresh ? known : readBalance(spending, account);
            const held = await balance.held;
            if (held - balance.spent - account.reserved >= spending.amount) return void add(spending, ended);
            // An older balance may be less than what is held by now.
            if (balance.ends !== account.ends || balance.atMs < sinceMs) {
              if (account.balance === balance) account.balance = undefined;
            } else if (account.reserved > 0n) await account.nextEnd.promise;
            else return refuseUncovered(spending, held);
          }
        },
        [Symbol.dispose]: release,
      };
    },
  };
}

function createAccount(): Account {
  return { holders: 0, reserved: 0n, ends: 0, nextEnd: Promise.withResolvers(), balance: undefined };
}

function refuseUncovered({ asset, payer, amount }: Spending, held: bigint): Refusal {
  return { reason: reason.balance, message: `${payer} holds ${held} of ${asset}, the payment is ${amount}.` };
}
