import { ChainError } from "../../chain/chain-error.ts";
import type { SignerWatch } from "../../chain/signer-watch.ts";
import { getNamedSigner } from "../../chain/transfer-method.ts";
import type { TransactionSigners } from "../../chain/transaction-signer.ts";
import { isSameHex, type Hex } from "#x402/hex.ts";
import type { InFlightSettlement, InFlightSettlements } from "../in-flight.ts";
import { createNonceAllocator, type Nonces } from "./nonces.ts";
import { createSendBatch, type SendDependencies, type UnsentBatch } from "./send-batch.ts";
import type { SigningOptions } from "./sign-batch.ts";
import { createSubmitter, type Submitter, type SubmitterDependencies } from "./submitter.ts";

export type SignerQueuesDependencies = Omit<SendDependencies, "signer" | "nonces" | "recordProblem"> &
  Pick<SubmitterDependencies, "onSent"> &
  Readonly<{
    signers: TransactionSigners;
    signerWatch: Pick<SignerWatch, "shortage" | "recordProblem" | "canPay">;
    book: InFlightSettlements;
  }>;

/** What one signing account is doing. */
export type SignerState = Readonly<{ address: Hex; nextNonce: number; inFlight: number }>;

/** Queues of all signing accounts: a settlement goes to the shortest one whose account can settle. */
export type SignerQueues = Pick<Submitter, "idle"> &
  Readonly<{
    /** Queues settlements for a new transaction, preferably by the given account: one, which others may join, or those of an earlier transaction. */
    submit: (entries: readonly InFlightSettlement[], preferred?: Hex) => void;
    /** Queues the replacement of the newest transaction of settlements; nothing if no account here signed it. */
    replace: Submitter["replace"];
    /** Nonces of each account, by its address. */
    nonces: ReadonlyMap<Hex, Nonces>;
    states: () => readonly SignerState[];
  }>;

/** One signing account with its queue. */
type Account = Readonly<{ address: Hex; nonces: Nonces; submitter: Submitter }>;

/** Creates the queues. A settlement that its account can't send moves on to another one that can, else ends. */
export function createSignerQueues(
  options: SigningOptions & Readonly<{ batchMax: number }>,
  { signers, signerWatch, onSent, ...dependencies }: SignerQueuesDependencies,
): SignerQueues {
  const { book, log, gas } = dependencies;
  const accounts = signers.map((signer): Account => {
    const { address } = signer;
    const nonces = createNonceAllocator();
    const recordProblem = (problem: string): boolean => {
      signerWatch.recordProblem(address, problem);
      return signerWatch.shortage() === undefined;
    };
    const sendBatch = createSendBatch(options, { ...dependencies, signer, nonces, recordProblem });
    const submitter = createSubmitter(options, { log, sendBatch, onSent, onUnsent });
    return { address, nonces, submitter };
  });
  const find = (address: Hex | undefined) => accounts.find((account) => isSameHex(account.address, address));
  const isUsable = ({ address }: Account) => signerWatch.shortage(address) === undefined;
  /** Lists the accounts that may send a settlement: all, or the one that its payer named. */
  const listAllowed = (entry: InFlightSettlement | undefined): readonly Account[] => {
    const named = entry && getNamedSigner(entry.settlement);
    return named === undefined ? accounts : accounts.filter(({ address }) => isSameHex(address, named));
  };

  /** Leaves out accounts that can't pay for all the gas, unless none can. */
  const findPaying = (entries: readonly InFlightSettlement[], among: readonly Account[]): readonly Account[] => {
    const needed = entries.reduce((sum, { settlement }) => sum + (gas.find(settlement) ?? gas.most(settlement)), 0n);
    const paying = among.filter(({ address }) => signerWatch.canPay(needed, address));
    return paying.length > 0 ? paying : among;
  };

  /** Moves a settlement that its account can't send to one that can; ends it if there is none. */
  function onUnsent({ entry, failure }: UnsentBatch): void {
    const isOfSigner = failure instanceof ChainError && failure.fault === "signer";
    const other = isOfSigner ? findShortest(listAllowed(entry).filter(isUsable)) : undefined;
    if (other === undefined) book.end(entry, failure);
    else other.submitter.submit(entry);
  }

  return {
    submit: (entries, preferred) => {
      const allowed = listAllowed(entries[0]);
      const usable = findPaying(entries, allowed.filter(isUsable));
      const own = find(preferred);
      const account =
        own !== undefined && usable.includes(own) ? own : (findShortest(usable) ?? own ?? findShortest(allowed));
      if (account !== undefined) return account.submitter.submit(...entries);
      const failure = new ChainError("signer", "the account that the payment names submits no transactions here");
      for (const entry of entries) if (entry.attempts.length === 0) book.end(entry, failure);
    },
    replace: (entries, nonce) => find(entries[0]?.attempts.at(-1)?.signer)?.submitter.replace(entries, nonce),
    idle: async () => {
      // A settlement may move to a queue that was idle.
      while (accounts.some(({ submitter }) => submitter.size() > 0))
        await Promise.all(accounts.map(({ submitter }) => submitter.idle()));
    },
    nonces: new Map(accounts.map(({ address, nonces }) => [address, nonces])),
    states: () =>
      accounts.map(({ address, nonces }) => ({ address, nextNonce: nonces.next(), inFlight: nonces.heldCount() })),
  };
}

/** Finds the account with the fewest settlements queued and transactions in flight, the first of several. */
function findShortest(among: readonly Account[]): Account | undefined {
  return among.toSorted((a, b) => measureQueue(a) - measureQueue(b))[0];
}

function measureQueue({ nonces, submitter }: Account): number {
  return submitter.size() + nonces.heldCount();
}
