import type { Logger } from "#daemon/log/log.ts";
import { ChainError } from "../../chain/chain-error.ts";
import { getNamedSigner } from "../../chain/transfer-method.ts";
import { isSameHex, type Hex } from "#x402/hex.ts";
import type { SettlementContext } from "../context.ts";
import type { Journal } from "../ledger/ledger.ts";
import type { InFlightSettlement, InFlightSettlements } from "../settlement.ts";
import type { Job } from "./batch-planner.ts";
import { createSendBatch, type BatchOutcome, type UnsentBatch } from "./send-batch.ts";
import { createNonceAllocator, type NonceAllocator } from "./sign-batch.ts";

export type SignerState = Readonly<{ address: Hex; nextNonce: number | undefined; inFlight: number }>;

export type SignerQueues = ReturnType<typeof createSignerQueues>;

type Account = Readonly<{ address: Hex; nonces: NonceAllocator; submitter: ReturnType<typeof createSubmitter> }>;

/** Creates the queues of all signing accounts: a settlement goes to the shortest one whose account can settle. */
export function createSignerQueues(
  context: SettlementContext,
  {
    ledger,
    book,
    logsUses,
    onSent,
  }: Readonly<{ ledger: Journal; book: InFlightSettlements; logsUses: (asset: Hex) => boolean; onSent: () => void }>,
) {
  const { signers, signerWatch, log, gas, settlement: options } = context;
  const accounts = signers.map((signer): Account => {
    const { address } = signer;
    const nonces = createNonceAllocator();
    const recordProblem = (problem: string): boolean => {
      signerWatch.recordProblem(address, problem);
      return signerWatch.shortage() === undefined;
    };
    const sendBatch = createSendBatch(context, { signer, nonces, recordProblem }, { ledger, logsUses });
    const submitter = createSubmitter(options, { log, sendBatch, onSent, onUnsent });
    return { address, nonces, submitter };
  });
  const find = (address: Hex | undefined) => accounts.find((account) => isSameHex(account.address, address));
  const isUsable = ({ address }: Account) => signerWatch.shortage(address) === undefined;
  const listAllowed = (entry: InFlightSettlement | undefined): readonly Account[] => {
    const namedSigner = entry && getNamedSigner(entry.settlement);
    return namedSigner === undefined ? accounts : accounts.filter(({ address }) => isSameHex(address, namedSigner));
  };

  /** Excludes accounts that can't pay for all the gas, unless none can. */
  const findFunded = (entries: readonly InFlightSettlement[], among: readonly Account[]): readonly Account[] => {
    const required = entries.reduce((sum, { settlement }) => sum + (gas.find(settlement) ?? gas.most(settlement)), 0n);
    const fundedAccounts = among.filter(({ address }) => signerWatch.canPay(required, address));
    return fundedAccounts.length > 0 ? fundedAccounts : among;
  };

  /** Moves a settlement that its account can't send to one that can; ends it if there is none. */
  function onUnsent({ entry, failure }: UnsentBatch): void {
    const isSignerFault = failure instanceof ChainError && failure.fault === "signer";
    const otherAccount = isSignerFault ? findShortest(listAllowed(entry).filter(isUsable)) : undefined;
    if (otherAccount === undefined) book.end(entry, failure);
    else otherAccount.submitter.submit(entry);
  }

  return {
    /**
     * Queues settlements for a new transaction, preferably by the given account: one settlement, which others may join, or all those of an
     * earlier transaction.
     */
    submit: (entries: readonly InFlightSettlement[], preferredAddress?: Hex): void => {
      const allowedAccounts = listAllowed(entries[0]);
      const usableAccounts = findFunded(entries, allowedAccounts.filter(isUsable));
      const preferred = find(preferredAddress);
      const account =
        preferred !== undefined && usableAccounts.includes(preferred)
          ? preferred
          : (findShortest(usableAccounts) ?? preferred ?? findShortest(allowedAccounts));
      if (account !== undefined) return account.submitter.submit(...entries);
      const failure = new ChainError("signer", "the account that the payment names submits no transactions here");
      for (const entry of entries) if (entry.attempts.length === 0) book.end(entry, failure);
    },
    replace: (entries: readonly InFlightSettlement[], nonce?: number): void =>
      find(entries[0]?.attempts.at(-1)?.signer)?.submitter.replace(entries, nonce),
    idle: async (): Promise<void> => {
      // A settlement may move to a queue that was idle.
      while (accounts.some(({ submitter }) => submitter.size() > 0))
        await Promise.all(accounts.map(({ submitter }) => submitter.idle()));
    },
    nonces: new Map(accounts.map(({ address, nonces }) => [address, nonces])),
    states: (): readonly SignerState[] =>
      accounts.map(({ address, nonces }) => ({ address, nextNonce: nonces.known(), inFlight: nonces.heldCount() })),
  };
}

function findShortest(among: readonly Account[]): Account | undefined {
  return among.toSorted((a, b) => measureQueue(a) - measureQueue(b))[0];
}

function measureQueue({ nonces, submitter }: Account): number {
  return submitter.size() + nonces.heldCount();
}

/**
 * Creates the only queue of a signing account, which assigns all its nonces; the max number of settlements in flight limits it. Settlements
 * that arrive while others are being sent form the next batch: one journal write, one request and, if the chain and their kind allow it,
 * one transaction.
 */
export function createSubmitter(
  { batchMax }: Readonly<{ batchMax: number }>,
  {
    log,
    sendBatch,
    onSent,
    onUnsent,
  }: Readonly<{
    log: Logger;
    sendBatch: (jobs: readonly Job[]) => Promise<BatchOutcome>;
    onSent: () => void;
    onUnsent: (unsent: UnsentBatch) => void;
  }>,
) {
  const queue: Job[] = [];
  let isRunning = false;
  let sendingCount = 0;
  let currentRun = Promise.resolve();
  let fault: string | undefined;

  const send = async (jobs: readonly Job[]): Promise<void> => {
    const entries = jobs.flatMap((job) => job.entries);
    try {
      const { signed, again, unsent } = await sendBatch(jobs);
      for (const entry of entries) entry.queued = false;
      for (const job of again) enqueue(job);
      unsent.forEach(onUnsent);
      fault = undefined;
      // Without a new transaction, an immediate check would only queue the same jobs again.
      if (signed > 0) onSent();
    } catch (error) {
      for (const entry of entries) entry.queued = false;
      const failure = error instanceof Error ? error : new Error(String(error));
      // A failed replacement is retried at each poll; logging it once is enough.
      if (fault !== failure.message)
        log.error(
          { event: "settlements-not-sent", err: error, settlements: entries.length },
          "settlements could not be sent",
        );
      fault = failure.message;
      for (const entry of entries) if (entry.attempts.length === 0) onUnsent({ entry, failure });
    }
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) {
      const jobs = queue.splice(0, batchMax);
      sendingCount = jobs.length;
      await send(jobs);
    }
    [isRunning, sendingCount] = [false, 0];
  };

  const enqueue = (job: Job): void => {
    const entries = job.entries.filter(({ queued }) => !queued);
    if (entries.length === 0) return;
    for (const entry of entries) entry.queued = true;
    queue.push({ ...job, entries });
    if (isRunning) return;
    isRunning = true;
    currentRun = run();
  };

  return {
    submit: (...entries: readonly InFlightSettlement[]): void => enqueue({ entries, replaced: undefined }),
    /** Queues a replacement, with a higher fee, for the newest transaction of settlements, or for the one with the given nonce. */
    replace: (entries: readonly InFlightSettlement[], nonce?: number): void => {
      const newestAttempt = entries[0]?.attempts.at(-1);
      enqueue({ entries, replaced: newestAttempt && { ...newestAttempt, nonce: nonce ?? newestAttempt.nonce } });
    },
    size: (): number => queue.length + sendingCount,
    idle: (): Promise<void> => currentRun,
  };
}
