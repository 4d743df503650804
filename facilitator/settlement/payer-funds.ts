import type { Clock } from "#daemon/clock.ts";
import type { Hex } from "#x402/hex.ts";
import { approvesPermit2 } from "#x402/permit2.ts";
import type { Rejection } from "#x402/reason.ts";
import type { Chain } from "../chain/chain.ts";
import { readAvailableFunds, rejectUnfunded, type AvailableFunds } from "../chain/transfer-method.ts";

export type Spending = Readonly<{ asset: Hex; contract: Hex; payer: Hex; amount: bigint; callData: Hex }>;

/** Whether the payment was simulated, and the check to repeat if a Permit2 approval has changed the allowance. */
type ReserveOptions = Readonly<{ isSimulated: boolean; recheck?: () => Promise<Rejection | undefined> }>;

export type CheckedSpending = Disposable &
  Readonly<{
    /**
     * Waits until the payer's balance covers the amount in addition to the payer's other in-flight settlements, and reserves it until
     * `ended` resolves. If none of those are left and the balance is insufficient, returns a rejection and reserves nothing. `isSimulated`
     * means that the chain would have accepted the payment at some time since it was opened; then no balance is read if the payer has no
     * other settlement.
     *
     * @throws {ChainError} when the node doesn't respond.
     */
    reserve: (ended: Promise<unknown>, options?: ReserveOptions) => Promise<Rejection | undefined>;
  }>;

/**
 * Totals of in-flight settlement amounts, by payer and token: each settlement may pass a simulation although the balance does not cover all
 * of them.
 */
export type PayerFunds = ReturnType<typeof createPayerFunds>;

/** How long a balance, less the amounts spent since it was read, can be reused for more settlements. */
const balanceFreshMs = 2_000;

type Account = {
  /** Number of settlements being checked or in flight; at zero, the account is removed. */
  holders: number;
  reserved: bigint;
  /**
   * Number of in-flight settlements that approve Permit2. Each approval replaces the allowance, and the approvals' nonces are sequential.
   */
  approving: number;
  ends: number;
  nextEnd: PromiseWithResolvers<void>;
  balance: Balance | undefined;
};

/** The balance as read, the amount that may have been spent since the read started, and the time of the read. */
type Balance = {
  readonly contract: Hex;
  readonly approves: boolean;
  readonly cover: Promise<AvailableFunds>;
  readonly atMs: number;
  readonly ends: number;
  spent: bigint;
};

export function createPayerFunds({
  chain,
  monotonicMs,
}: Readonly<{ chain: Pick<Chain, "read"> }> & Pick<Clock, "monotonicMs">) {
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

  /** Adds a settlement whose transaction was already sent, until it ends. */
  const add = (spending: Spending, ended: Promise<unknown>): void => {
    const { account, release } = hold(spending);
    const approvalCount = approvesPermit2(spending.callData) ? 1 : 0;
    account.reserved += spending.amount;
    account.approving += approvalCount;
    void ended.finally(() => {
      account.reserved -= spending.amount;
      account.approving -= approvalCount;
      account.ends += 1;
      if (account.balance !== undefined) account.balance.spent += spending.amount;
      account.nextEnd.resolve();
      account.nextEnd = Promise.withResolvers();
      release();
    });
  };

  const readBalance = (spending: Spending, account: Account): Balance => {
    const cover = readAvailableFunds(spending, chain);
    const { contract, callData } = spending;
    const approves = approvesPermit2(callData);
    const balance: Balance = { contract, approves, cover, atMs: monotonicMs(), ends: account.ends, spent: 0n };
    account.balance = balance;
    cover.catch(() => {
      if (account.balance === balance) account.balance = undefined;
    });
    return balance;
  };

  const findBalance = (spending: Spending, account: Account): Balance => {
    const known = account.balance;
    const isSame = known?.contract === spending.contract && known.approves === approvesPermit2(spending.callData);
    return isSame && monotonicMs() - known.atMs < balanceFreshMs ? known : readBalance(spending, account);
  };

  return {
    add,
    open: (spending: Spending): CheckedSpending => {
      const { account, release } = hold(spending);
      const openSpending = { spending, account, endCount: account.ends };
      return {
        reserve: (ended, options = { isSimulated: false }) =>
          reserve(openSpending, options, { findBalance, monotonicMs, add: () => add(spending, ended) }),
        [Symbol.dispose]: release,
      };
    },
  };
}

type OpenSpending = Readonly<{ spending: Spending; account: Account; endCount: number }>;

type ReserveDependencies = Readonly<{
  findBalance: (spending: Spending, account: Account) => Balance;
  add: () => void;
}> &
  Pick<Clock, "monotonicMs">;

async function reserve(
  { spending, account, endCount }: OpenSpending,
  { isSimulated, recheck }: ReserveOptions,
  { findBalance, add, monotonicMs }: ReserveDependencies,
): Promise<Rejection | undefined> {
  if (isSimulated && account.reserved === 0n && account.ends === endCount) {
    add();
    return undefined;
  }
  const approves = approvesPermit2(spending.callData);
  const mustWait = () => account.approving > 0 || (approves && account.reserved > 0n);
  const sinceMs = monotonicMs();
  for (;;) {
    if (mustWait()) {
      await account.nextEnd.promise;
      const rejection = mustWait() ? undefined : await recheck?.();
      if (rejection !== undefined) return rejection;
      continue;
    }
    const balance = findBalance(spending, account);
    const cover = await balance.cover;
    if (mustWait()) continue;
    if (cover.balance - balance.spent - account.reserved >= spending.amount) {
      add();
      return undefined;
    }
    // An older balance may be lower than the current one.
    if (balance.ends !== account.ends || balance.atMs < sinceMs) {
      if (account.balance === balance) account.balance = undefined;
    } else if (account.reserved > 0n) await account.nextEnd.promise;
    else return rejectUnfunded(spending, cover);
  }
}

function createAccount(): Account {
  return { holders: 0, reserved: 0n, approving: 0, ends: 0, nextEnd: Promise.withResolvers(), balance: undefined };
}
