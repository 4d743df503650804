import { hash as hashBytes } from "node:crypto";
import type { JsonRpcResponse } from "#daemon/json-rpc.ts";
import type { Chain, ContractLog, Receipt, SendOutcome } from "../chain/chain.ts";
import { encodeBalanceOfCall, authorizationUsedTopic, transferTopic } from "../chain/token.ts";
import type { TransactionSigner } from "../chain/transaction-signer.ts";
import * as AbiFunction from "ox/AbiFunction";
import * as TxEnvelopeEip1559 from "ox/TxEnvelopeEip1559";
import { encodeInteger, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import type { Settlement } from "../settlement/settlement.ts";

/** Transaction as encoded in its raw bytes here. */
type Transaction = Readonly<{ hash: Hex; nonce: number; data: Hex; fee: number; gas: bigint }>;

/** Chain with one signer and one token, on which a transaction's call data identifies its settlement; Multicall3 makes several calls. */
export type SimulatedChain = Readonly<{
  signer: TransactionSigner;
  /** Returns the chain as one replica reaches it; `leg` runs before each request and before each response, and may throw. */
  connect: (leg: () => Promise<void>) => Chain;
  mine: () => void;
  forgetPool: () => void;
  isUsed: (settlement: Settlement) => boolean;
  /** Returns the transactions that transferred a settlement's amount. */
  transfersOf: (settlement: Settlement) => readonly Hex[];
  setPoor: (isPoor: boolean) => void;
}>;

const address: Hex = `0x${"51".repeat(20)}`;
const gwei = 1_000_000_000n;

/** Creates the chain for settlements that may be sent to it; `onSend` is called for each transaction sent to a node. */
export function createSimulatedChain(
  { settlements, nowMs }: Readonly<{ settlements: readonly Settlement[]; nowMs: () => number }>,
  { onSend }: Readonly<{ onSend: (hash: Hex) => void }>,
): SimulatedChain {
  const byCallData = new Map(settlements.map((settlement) => [settlement.callData, settlement]));
  const pool = new Map<number, Transaction>();
  const receipts = new Map<Hex, Receipt>();
  const used = new Map<Hex, Hex>();
  let [nextNonce, headNumber, isPoor] = [0, 1, false];

  // By the time of their block, a third of the settlements need more gas than estimate plus margin.
  const gasOf = (data: Hex) => ([...byCallData.keys()].indexOf(data) % 3 === 0 ? 2n : 1n) * estimatedGas;
  const isPayable = (data: Hex) => {
    const settlement = byCallData.get(data);
    return settlement !== undefined && !used.has(settlement.authorizationNonce);
  };
  const include = ({ hash, data, gas }: Transaction): void => {
    const calls = readCalls(data);
    const payable = calls.filter(isPayable);
    const needed = calls.reduce((sum, call) => sum + gasOf(call), 0n);
    const isShort = payable.length > 0 && gas < needed;
    const paid = isShort ? [] : payable.flatMap((call) => byCallData.get(call) ?? []);
    for (const { authorizationNonce } of paid) used.set(authorizationNonce, hash);
    const isGood = !isShort && (calls.length > 1 || paid.length > 0);
    const spent = { gasUsed: isShort ? gas : needed, effectiveGasPrice: gwei };
    const at = { blockNumber: headNumber, transactionHash: hash };
    receipts.set(hash, { status: isGood ? 1 : 0, ...at, ...spent, logs: paid.flatMap(buildTransferLogs) });
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

  const node = { head, isPayable, pendingNonce, nextNonce: () => nextNonce, receipts, used, take, onSend };
  return {
    signer: { address, sign, check: async () => undefined },
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
  /** Returns whether the token would accept the call now. */
  isPayable: (data: Hex) => boolean;
  pendingNonce: () => number;
  nextNonce: () => number;
  receipts: ReadonlyMap<Hex, Receipt>;
  /** Transaction that used each authorization nonce. */
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
    syncing: () => ask(() => false),
    balance: () => ask(() => 10n ** 18n),
    transactionCount: (_, block) => ask(() => (block === "pending" ? node.pendingNonce() : node.nextNonce())),
    priorityFee: () => ask(() => gwei),
    receipt: (hash) => ask(() => node.receipts.get(hash)),
    transactionCall: () => ask(() => undefined),
    code: () => ask(() => "0x"),
    send: (raw) =>
      ask(() => {
        const transaction = readTransaction(raw);
        node.onSend(transaction.hash);
        return node.take(transaction);
      }),
    simulate: ({ data }) =>
      ask(() => {
        const calls = readCalls(data);
        if (calls.length > 1) return { ok: true, result: encodeResults(calls.map(node.isPayable)) };
        return node.isPayable(data) ? { ok: true, result: "0x" } : reverted;
      }),
    estimateGas: ({ data }) =>
      ask(() => {
        const calls = readCalls(data);
        const result = `0x${(estimatedGas * BigInt(calls.length)).toString(16)}`;
        return calls.every(node.isPayable) ? { ok: true, result } : reverted;
      }),
    read: ({ data }) =>
      ask((): Hex => {
        // Payers always have sufficient balance.
        if (data === encodeBalanceOfCall(`0x${data.slice(-40)}`)) return `0x${encodeInteger(10n ** 18n)}`;
        return `0x${encodeInteger(node.used.has(`0x${data.slice(-64)}`) ? 1n : 0n)}`;
      }),
    recentLogs: (_, topics) =>
      ask(() => {
        const [hash, found] = [
          node.used.get(topics.flat().at(-1) ?? "0x"),
          topics.flat().filter((each) => each !== null),
        ];
        return hash === undefined ? [] : [{ address, topics: found, data: "0x" as Hex, transactionHash: hash }];
      }),
  };
}

/** Gas that nodes estimate for each settlement. */
const estimatedGas = 65_000n;

const aggregate3 = AbiFunction.from(
  "function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[] results)",
);

function readCalls(data: Hex): readonly Hex[] {
  if (!data.startsWith(AbiFunction.getSelector(aggregate3))) return [data];
  return AbiFunction.decodeData(aggregate3, data)[0].map(({ callData }) => callData);
}

function encodeResults(successes: readonly boolean[]): Hex {
  return AbiFunction.encodeResult(
    aggregate3,
    successes.map((success) => ({ success, returnData: "0x" as const })),
  );
}

const reverted: JsonRpcResponse = { ok: false, error: { code: 3, message: "execution reverted" } };

function readTransaction(raw: Hex): Transaction {
  const {
    nonce = 0n,
    data = "0x",
    gas = 0n,
    maxFeePerGas = 0n,
  } = TxEnvelopeEip1559.deserialize(raw as `0x02${string}`);
  return { hash: nameTransaction(raw), nonce: Number(nonce), data, gas, fee: Number(maxFeePerGas) };
}

const sign: TransactionSigner["sign"] = async (transaction) => {
  const rawTransaction = TxEnvelopeEip1559.serialize({
    type: "eip1559",
    ...transaction,
    nonce: BigInt(transaction.nonce),
  });
  return { hash: nameTransaction(rawTransaction), rawTransaction };
};

function nameTransaction(raw: Hex): Hex {
  return `0x${hashBytes("sha256", raw)}`;
}

function buildTransferLogs({ asset, payer, payTo, amount, authorizationNonce }: Settlement): ContractLog[] {
  return [
    { address: asset, topics: [authorizationUsedTopic, encodeAddressTopic(payer), authorizationNonce], data: "0x" },
    {
      address: asset,
      topics: [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(payTo)],
      data: `0x${encodeInteger(amount)}`,
    },
  ];
}
