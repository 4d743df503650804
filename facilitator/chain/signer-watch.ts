import * as Value from "ox/Value";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import type { Logger } from "#daemon/log/log.ts";
import { isSameHex, type Hex } from "#x402/hex.ts";
import type { Chain } from "./chain.ts";
import { ChainError } from "./chain-error.ts";
import type { TransactionSigner } from "./transaction-signer.ts";

export type SignerWatchOptions = Readonly<{ chainId: number; gasLimit: number }>;

/** Last known state of the signing accounts; reading it never calls the node. */
export type SignerWatch = ReturnType<typeof createSignerWatch>;

type Account = { readonly signer: TransactionSigner; balance: bigint | undefined; problem: string | undefined };

/** Number of settlements for which an account without gas should be funded. */
const advisedSettlements = 100n;

export function createSignerWatch(
  { chainId, gasLimit }: SignerWatchOptions,
  { signers, chain, log }: Readonly<{ signers: readonly TransactionSigner[]; chain: Chain; log: Logger }>,
) {
  const accounts = signers.map((signer): Account => ({ signer, balance: undefined, problem: undefined }));
  const unusableSigners = new Set<Hex>();
  let [settlementCost, gasPrice] = [0n, 0n];
  let notifyShortage: (() => void) | undefined;

  const describe = ({ signer: { address }, balance, problem }: Account): ReadinessCheck => {
    if (problem !== undefined) return { ok: false, message: `${address}: ${problem}` };
    if (balance === undefined) return { ok: false, message: `the balance of ${address} is not known yet` };
    const balanceText = `the balance of ${address} for gas is ${Value.formatEther(balance)} in native currency`;
    if (balance >= settlementCost) return { ok: true, message: balanceText };
    return {
      ok: false,
      message: `${balanceText}, but one settlement may cost ${Value.formatEther(settlementCost)}; send it ${Value.formatEther(settlementCost * advisedSettlements)} in the native currency of chain ${chainId} for ${advisedSettlements} settlements (on a testnet, from its faucet)`,
    };
  };
  const explain = (account: Account): string | undefined => {
    const { balance, problem } = account;
    const mayPay = problem === undefined && (balance === undefined || balance >= settlementCost);
    return mayPay ? undefined : describe(account).message;
  };
  const report = (account: Account): void => {
    const [{ address }, problem] = [account.signer, explain(account)];
    if (unusableSigners.has(address) === (problem !== undefined)) return;
    const where = { signer: address, network: `eip155:${chainId}` };
    if (problem === undefined) {
      unusableSigners.delete(address);
      log.info({ event: "signer-usable", ...where }, "the signer settles again");
      return;
    }
    unusableSigners.add(address);
    const effect = unusableSigners.size === accounts.length ? "no payment can be settled" : "the other signers settle";
    log.warn({ event: "signer-unusable", ...where, problem }, `${effect}: ${problem}`);
  };
  /**
   * Returns why the given account (or, without one, every account) can't settle: too little for gas, or a key that can't sign. Undefined if
   * it can, or if this is unknown.
   */
  const shortage = (requested?: Hex): string | undefined => {
    const requestedAccounts = findRequested(accounts, requested);
    const problems = requestedAccounts.flatMap((account) => explain(account) ?? []);
    return problems.length === requestedAccounts.length ? problems.join("; ") : undefined;
  };
  return {
    /**
     * Queries the balances, and whether keys that failed can sign again.
     *
     * @throws {ChainError} when the node doesn't respond.
     */
    look: async (maxFeePerGas: bigint): Promise<void> => {
      await Promise.all(accounts.map((account) => checkAccount(account, chain)));
      [settlementCost, gasPrice] = [BigInt(gasLimit) * maxFeePerGas, maxFeePerGas];
      accounts.forEach(report);
    },
    /** Fails when no account can settle. */
    check: (): ReadinessCheck => {
      const checks = accounts.map(describe);
      return { ok: checks.some(({ ok }) => ok), message: checks.map(({ message }) => message).join("; ") };
    },
    shortage,
    /**
     * Returns whether an account that can settle (the given one, or any) can pay for that much gas; true while this is unknown. A
     * transaction with several claims may need more gas than one settlement.
     */
    canPay: (gas: bigint, requested?: Hex): boolean =>
      findRequested(accounts, requested).some(
        (account) => explain(account) === undefined && (account.balance ?? Infinity) >= gas * gasPrice,
      ),
    /** Suspends an account until the next {@link SignerWatch.look} finds that it can settle. */
    recordProblem: (address: Hex, problem: string): void => {
      const account = accounts.find(({ signer }) => signer.address === address);
      if (account === undefined) return;
      account.problem = problem;
      report(account);
      if (shortage() !== undefined) notifyShortage?.();
    },
    /** Registers a listener that is called as soon as no account can settle any more. */
    onShortage: (listener: () => void): void => void (notifyShortage = listener),
    /** The accounts' balances in the chain's native currency; unknown ones are absent. */
    balances: (): ReadonlyMap<Hex, number> => new Map(accounts.flatMap(readBalance)),
    usable: (): ReadonlyMap<Hex, boolean> =>
      new Map(accounts.map((account) => [account.signer.address, explain(account) === undefined])),
    /** Returns an account's current max cost of one settlement, in the native currency's smallest unit; 0 until known. */
    settlementCost: (): bigint => settlementCost,
  };
}

function findRequested(accounts: readonly Account[], requested: Hex | undefined): readonly Account[] {
  return accounts.filter(({ signer }) => requested === undefined || isSameHex(signer.address, requested));
}

function readBalance({ signer, balance }: Account): readonly (readonly [Hex, number])[] {
  return balance === undefined ? [] : [[signer.address, Number(Value.formatEther(balance))]];
}

async function checkAccount(account: Account, chain: Pick<Chain, "balance">): Promise<void> {
  const problem = account.problem === undefined ? undefined : findProblem(account.signer);
  [account.balance, account.problem] = await Promise.all([chain.balance(account.signer.address), problem]);
}

async function findProblem({ check }: TransactionSigner): Promise<string | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    if (error instanceof ChainError) return error.message;
    throw error;
  }
}
