import { hash as hashBytes } from "node:crypto";
import type { Chain, EventLog, Receipt } from "../chain/chain.ts";
import { ChainError, type SendOutcome } from "../chain/chain-error.ts";
import { encodeAddressTopic, encodeBalanceOfCall, authorizationUsedTopic, transferTopic } from "../chain/token.ts";
import type { TransactionSigner } from "../chain/transaction-signer.ts";
import { encodeInteger, type Hex } from "#x402/hex.ts";
import type { Settlement } from "../settlement/settlement.ts";

/** A transaction as its raw bytes have it here. */
type Transaction = Readonly<{ hash: Hex; nonce: number; data: Hex; fee: number }>;

/** A chain with one signer and one token, on which a transaction's call data names the settlement that it carries. */
export type SimulatedChain = Readonly<{
  signer: TransactionSigner;
  /** The chain as one replica reaches it; `leg` is run on the way there and on the way back, and may throw. */
  connect: (leg: () => Promise<void>) => Chain;
  /** Makes a block of what waits in the pool. */
  mine: () => void;
  /** Forgets what waits in the pool. */
  forgetPool: () => void;
  isUsed: (settlement: Settlement) => boolean;
  /** Transactions that transferred a settlement's money. */
  transfersOf: (settlement: Settlement) => readonly Hex[];
  /** Whether nodes refuse every transaction for lack of funds. */
  setPoor: (isPoor: boolean) => void;
}>;

const address: Hex = `0x${"51".repeat(20)}`;
const gwei = 1_000_000_000n;

/** Creates the chain for settlements that may be sent to it; `onSend` is called for each transaction that a node is given. */
export function createSimulatedChain(
  { settlements, nowMs }: Readonly<{ settlements: readonly Settlement[]; nowMs: () => number }>,
  { onSend }: Readonly<{ onSend: (hash: Hex) => void }>,
): SimulatedChain {
  const byCallData = new Map(settlements.map((settlement) => [settlement.callData, settlement]));
  const pool = new Map<number, Transaction>();
  const receipts = new Map<Hex, Receipt>();
  const used = new Map<Hex, Hex>();
  let [nextNonce, headNumber, isPoor] = [0, 1, false];

  const include = ({ hash, data }: Transaction): void => {
    const settlement = byCallData.get(data);
    const isGood = settlement !== undefined && !used.has(settlement.authorizationNonce);
    const logs = isGood ? buildTransferLogs(settlement) : [];
    if (isGood) used.set(settlement.authorizationNonce, hash);
    receipts.set(hash, { status: isGood ? 1 : 0, blockNumber: headNumber, transactionHash: hash, logs: [...logs] });
  };
  const take = (transaction: Transaction): SendOutcome => {
    const pooled = pool.get(transaction.nonce);
    if (receipts.has(transaction.hash) || pooled?.hash === transaction.hash) return { kind: "accepted" };
    if (transaction.nonce < nextNonce) return { kind: "nonce_taken", message: "nonce too low" };
    if (isPoor) return { kind: "rejected", message: "insufficient funds for gas" };
    if (pooled !== undefined && transaction.fee < pooled.fee * 1.1) {
      return { kind: "nonce_taken", message: "replacement transaction underpriced" };
    }
    pool.set(transaction.nonce, transaction);
    return { kind: "accepted" };
  };
  const pendingNonce = (): number => {
    let nonce = nextNonce;
    while (pool.has(nonce)) nonce += 1;
    return nonce;
  };
  const head = () => ({ number: headNumber, timestamp: Math.floor(nowMs() / 1_000), baseFeePerGas: gwei });

  const node = { head, pendingNonce, nextNonce: () => nextNonce, receipts, used, take, onSend };
  return {
    signer: { address, sign },
    connect: (leg) => connect(node, leg),
    mine: () => {
      headNumber += 1;
      for (let next = pool.get(nextNonce); next !== undefined; next = pool.get(nextNonce)) {
        pool.delete(nextNonce);
        nextNonce += 1;
        include(next);
      }
    },
    forgetPool: () => pool.clear(),
    isUsed: ({ authorizationNonce }) => used.has(authorizationNonce),
    transfersOf: (settlement) =>
      [...receipts.values()]
        .filter(({ logs }) => logs.some(({ topics }) => topics[2] === settlement.authorizationNonce))
        .map(({ transactionHash }) => transactionHash),
    setPoor: (poor) => void (isPoor = poor),
  };
}

type SimulatedNode = Readonly<{
  head: () => Awaited<ReturnType<Chain["head"]>>;
  pendingNonce: () => number;
  nextNonce: () => number;
  receipts: ReadonlyMap<Hex, Receipt>;
  /** By authorization nonce, the transaction that used it. */
  used: ReadonlyMap<Hex, Hex>;
  take: (transaction: Transaction) => SendOutcome;
  onSend: (hash: Hex) => void;
}>;

function connect(node: SimulatedNode, leg: () => Promise<void>): Chain {
  const ask = async <T>(answer: () => T): Promise<T> => {
    await leg();
    const result = answer();
    await leg();
    return result;
  };
  return {
    id: () => ask(() => 1_672),
    head: () => ask(node.head),
    balance: () => ask(() => 10n ** 18n),
    transactionCount: (_, block) => ask(() => (block === "pending" ? node.pendingNonce() : node.nextNonce())),
    priorityFee: () => ask(() => gwei),
    receipt: (hash) => ask(() => node.receipts.get(hash)),
    send: (raw) =>
      ask(() => {
        const transaction = JSON.parse(raw.slice(2)) as Transaction;
        node.onSend(transaction.hash);
        return node.take(transaction);
      }),
    simulate: () => Promise.reject(new ChainError("refused", "nothing is simulated here")),
    read: ({ data }) =>
      ask((): Hex => {
        // Payers hold enough.
        if (data === encodeBalanceOfCall(`0x${data.slice(-40)}`)) return `0x${encodeInteger(10n ** 18n)}`;
        return `0x${encodeInteger(node.used.has(`0x${data.slice(-64)}`) ? 1n : 0n)}`;
      }),
    recentLogs: (_, topics) =>
      ask(() => {
        const hash = node.used.get(topics[2] ?? "0x");
        return hash === undefined ? [] : [{ address, topics: [...topics], data: "0x" as Hex, transactionHash: hash }];
      }),
  };
}

const sign: TransactionSigner["sign"] = ({ nonce = 0, data = "0x", maxFeePerGas = 0n }) => {
  const sent: Hex = `0x${hashBytes("sha256", `${nonce} ${data} ${maxFeePerGas}`)}`;
  return { hash: sent, rawTransaction: `0x${JSON.stringify({ hash: sent, nonce, data, fee: Number(maxFeePerGas) })}` };
};

function buildTransferLogs({ asset, payer, payTo, amount, authorizationNonce }: Settlement): readonly EventLog[] {
  return [
    { address: asset, topics: [authorizationUsedTopic, encodeAddressTopic(payer), authorizationNonce], data: "0x" },
    {
      address: asset,
      topics: [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(payTo)],
      data: `0x${encodeInteger(amount)}`,
    },
  ];
}
