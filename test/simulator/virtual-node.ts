import type { BatchingClient } from "#facilitator/chain/batching-client.ts";
import { ChainError } from "#facilitator/chain/chain-error.ts";
import {
  decimalsCall,
  domainSeparatorCall,
  encodeAuthorizationState,
  encodeBalanceOfCall,
} from "#facilitator/chain/token.ts";
import type { JsonRpcResponse } from "#daemon/json-rpc.ts";
import { encodeInteger, formatQuantity, type Hex } from "#x402/hex.ts";
import { nameAuthorization, type Block, type Transaction, type VirtualChain } from "./virtual-chain.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** How badly the nodes behind the RPC URL behave; each a probability for a call. */
export type NodeFaults = Readonly<{
  /** The call does not arrive. */
  unreachable: number;
  /** The call has its effect, and the answer is lost. */
  unanswered: number;
  /** The node answers with an error that says nothing about the call. */
  failing: number;
  /** A node answers that knows only blocks before the newest three. */
  lagging: number;
  /** A node says that it took a transaction, and forgets it. */
  forgetting: number;
}>;

export type NodeOptions = Readonly<{
  time: VirtualTime;
  chain: VirtualChain;
  chainId: number;
  separator: Hex;
  faults: () => NodeFaults;
  latencyMs: number;
  /** Time after which a caller gives up on a lost answer. */
  timeoutMs: number;
  onSend: (transaction: Transaction) => void;
}>;

type Handler = (params: readonly unknown[], view: Block) => JsonRpcResponse;

const answer = (result: unknown): JsonRpcResponse => ({ ok: true, result });
const fail = (message: string, code = -32_000): JsonRpcResponse => ({ ok: false, error: { code, message } });

const balanceSelector = encodeBalanceOfCall("0x").slice(0, 10);
const stateSelector = encodeAuthorizationState("0x", "0x").slice(0, 10);

/** Creates the JSON-RPC client of a process, for a chain's nodes. */
export function connectVirtualNode(process: VirtualProcess, options: NodeOptions): BatchingClient {
  const { time, chain, faults, latencyMs, timeoutMs } = options;
  const handlers = createHandlers(options);
  const run = async (method: string, params: readonly unknown[]): Promise<JsonRpcResponse> => {
    const { unreachable, unanswered, failing, lagging } = faults();
    if (time.chance(unreachable)) throw new ChainError("unreachable", "the virtual node is not reached");
    if (time.chance(failing)) return fail("header not found");
    const lag = time.chance(lagging) ? Math.ceil(time.random() * 3) : 0;
    const view = chain.blocks.at(-1 - lag) ?? chain.head();
    if (method === "eth_call" && typeof params[1] === "string" && Number(params[1]) > view.number)
      return fail("header not found");
    const result = handlers[method]?.(params, view) ?? fail(`the method ${method} does not exist`, -32_601);
    if (!time.chance(unanswered)) return result;
    await process.pause(time.random() * timeoutMs);
    throw new ChainError("timeout", "the virtual node did not answer in time");
  };
  return {
    call: (method, params) => process.call(method, latencyMs, () => run(method, params)),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function createHandlers({
  time,
  chain,
  chainId,
  separator,
  faults,
  onSend,
}: NodeOptions): Readonly<Record<string, Handler>> {
  const simulate = (data: Hex, gas: bigint, view: Block) => {
    if (data === domainSeparatorCall) return answer(separator);
    if (data === decimalsCall) return answer(`0x${encodeInteger(6n)}`);
    const account = data.slice(34, 74);
    if (data.startsWith(balanceSelector)) return answer(`0x${encodeInteger(view.state.balances.get(account) ?? 0n)}`);
    if (data.startsWith(stateSelector)) {
      const name = nameAuthorization({ from: account, nonce: `0x${data.slice(74)}` });
      return answer(`0x${encodeInteger(view.state.used.has(name) ? 1n : 0n)}`);
    }
    const revert = chain.simulate(data, gas, view);
    return revert === undefined ? answer("0x") : fail(`execution reverted: ${revert}`, 3);
  };
  const take = (transaction: Transaction, view: Block): JsonRpcResponse => {
    const { hash, nonce, maxFee, tip } = transaction;
    const pooled = chain.pool.get(nonce);
    if (pooled?.hash === hash) return fail("already known");
    if (nonce < view.state.nextNonce)
      return fail(`nonce too low: next nonce ${view.state.nextNonce}, tx nonce ${nonce}`);
    if (pooled !== undefined && (maxFee * 10n < pooled.maxFee * 11n || tip * 10n < pooled.tip * 11n))
      return fail("replacement transaction underpriced");
    onSend(transaction);
    chain.sent.set(hash, transaction);
    if (!time.chance(faults().forgetting) && nonce >= chain.head().state.nextNonce) chain.pool.set(nonce, transaction);
    return answer(hash);
  };
  const countPending = (view: Block): number => {
    let nonce = view.state.nextNonce;
    while (chain.pool.has(nonce)) nonce += 1;
    return nonce;
  };
  const findReceipt = (hash: unknown, view: Block) => {
    for (let index = view.number - 1; index >= 0; index -= 1) {
      const found = chain.blocks[index]?.included.find(({ transaction }) => transaction.hash === hash);
      if (found !== undefined) return found.receipt;
    }
    return null;
  };
  type Call = Readonly<{ data: Hex; gas?: Hex }>;
  type LogFilter = Readonly<{ topics: readonly [readonly Hex[], Hex, Hex]; fromBlock: Hex; toBlock: Hex }>;
  return {
    eth_chainId: () => answer(formatQuantity(chainId)),
    eth_syncing: () => answer(false),
    eth_getCode: () => answer("0x"),
    eth_getBalance: () => answer(formatQuantity(10n ** 24n)),
    eth_maxPriorityFeePerGas: () => answer(formatQuantity(1_000_000_000)),
    eth_getBlockByNumber: (_, { number, timestamp, baseFee }) =>
      answer({
        number: formatQuantity(number),
        timestamp: formatQuantity(timestamp),
        baseFeePerGas: formatQuantity(baseFee),
      }),
    eth_getTransactionCount: ([, block], view) =>
      answer(formatQuantity(block === "pending" ? countPending(view) : view.state.nextNonce)),
    eth_getTransactionReceipt: ([hash], view) => answer(findReceipt(hash, view)),
    eth_sendRawTransaction: ([raw], view) => take(chain.decode(raw as Hex), view),
    eth_call: ([call], view) => simulate((call as Call).data, BigInt((call as Call).gas ?? 1_000_000), view),
    eth_estimateGas: ([call], view) => {
      const { data } = call as Call;
      const revert = chain.simulate(data, 10n ** 9n, view);
      return revert === undefined ? answer(formatQuantity(65_000)) : fail(`execution reverted: ${revert}`, 3);
    },
    eth_getLogs: ([filter], view) => {
      const { topics, fromBlock, toBlock } = filter as LogFilter;
      const hash = view.state.used.get(nameAuthorization({ from: topics[1].slice(26), nonce: topics[2] }));
      const receipt = hash === undefined ? null : findReceipt(hash, view);
      const log = receipt?.logs.find((each) => topics[0].includes(each.topics[0] as Hex));
      const isWithin =
        receipt !== null &&
        BigInt(receipt.blockNumber) >= BigInt(fromBlock) &&
        BigInt(receipt.blockNumber) <= BigInt(toBlock);
      return answer(isWithin && log !== undefined ? [{ ...log, transactionHash: hash }] : []);
    },
  };
}
