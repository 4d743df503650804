import type { BatchingClient } from "#facilitator/chain/batching-client.ts";
import { ChainError } from "#facilitator/chain/chain-error.ts";
import {
  decimalsCall,
  domainSeparatorCall,
  encodeAllowanceCall,
  encodeAuthorizationState,
  encodeBalanceOfCall,
  encodeNonceBitmapCall,
} from "#facilitator/chain/token.ts";
import type { JsonRpcResponse } from "#daemon/json-rpc.ts";
import { canonicalContracts } from "#x402/contracts.ts";
import { encodeInteger, formatQuantity, isSameHex, type Hex } from "#x402/hex.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { separatorOf } from "./payments.ts";
import { findChecked } from "./signed-offers.ts";
import { contractWallet, token } from "./wallets.ts";
import { nameSlot, type Block, type Transaction, type VirtualChain } from "./virtual-chain.ts";
import { readChannelView } from "./virtual-channels.ts";
import { encodeResults, isConfirmed, isMulticall } from "./virtual-contracts.ts";
import type { VirtualProcess } from "./virtual-process.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Fault rates of the nodes behind the RPC URL, each a probability per call. */
export type NodeFaults = Readonly<{
  /** The call does not arrive. */
  unreachable: number;
  /** The call takes effect, but the response is lost. */
  unanswered: number;
  /** The node returns an error unrelated to the call. */
  failing: number;
  /** The responding node lacks the latest three blocks. */
  lagging: number;
  /** A node reports no receipt of a transaction in a block. */
  hiding: number;
  /** A node reports that it accepted a transaction, but drops it. */
  forgetting: number;
}>;

export type NodeOptions = Readonly<{
  time: VirtualTime;
  chain: VirtualChain;
  faults: () => NodeFaults;
  latencyMs: number;
  /** Time after which a caller stops waiting for a lost response. */
  timeoutMs: number;
  onSend: (transaction: Transaction) => void;
}>;

type Call = ContractCall & Readonly<{ from?: Hex; gas?: Hex }>;
type LogFilter = Readonly<{ topics: readonly (Hex | readonly Hex[] | null)[]; fromBlock: Hex; toBlock: Hex }>;
type Handler = (params: readonly unknown[], view: Block) => JsonRpcResponse;

const createResponse = (result: unknown): JsonRpcResponse => ({ ok: true, result });
const fail = (message: string, code = -32_000): JsonRpcResponse => ({ ok: false, error: { code, message } });

const deployedAddress = Object.values(canonicalContracts).map(({ address }) => address);

const digits = 40;
/** Views of the token and of Permit2, by selector: functions of the state, an account, and the rest of the call's data. */
const views: Readonly<Record<string, (state: Block["state"], account: string, rest: string) => bigint>> = {
  [encodeBalanceOfCall("0x").slice(0, 10)]: ({ balances }, account) => balances.get(account) ?? 0n,
  [encodeAllowanceCall("0x", "0x").slice(0, 10)]: ({ allowances }, account) => allowances.get(account) ?? 0n,
  [encodeAuthorizationState("0x", "0x").slice(0, 10)]: ({ used }, account, nonce) =>
    used.has(`token ${account} 0x${nonce}`) ? 1n : 0n,
  [encodeNonceBitmapCall("0x", 0n).slice(0, 10)]: ({ used }, account, position) => {
    const start = `Permit2 ${account} 0x${position.slice(2)}`;
    const bits = [...used].filter((name) => name.startsWith(start)).map((name) => BigInt(`0x${name.slice(-2)}`));
    return bits.reduce((bitmap, bit) => bitmap | (1n << bit), 0n);
  },
};

/** Creates a process's JSON-RPC client for the nodes of a chain. */
export function connectVirtualNode(process: VirtualProcess, options: NodeOptions): BatchingClient {
  const { time, chain, faults, latencyMs, timeoutMs } = options;
  const handlers = createHandlers(options);
  const run = async (method: string, params: readonly unknown[]): Promise<JsonRpcResponse> => {
    const { unreachable, unanswered, failing, lagging } = faults();
    if (time.chance(unreachable)) throw new ChainError("unreachable", "the virtual node is not reached");
    if (time.chance(failing)) return fail("header not found");
    const lag = time.chance(lagging) ? Math.ceil(time.random() * 3) : 0;
    const newestBlock = chain.blocks.at(-1 - lag) ?? chain.head();
    const asked = String(params[1]).startsWith("0x") ? Number(params[1]) : newestBlock.number;
    const view = asked > newestBlock.number ? undefined : chain.blocks[asked - 1];
    if (view === undefined) return fail("header not found");
    const result = handlers[method]?.(params, view) ?? fail(`the method ${method} does not exist`, -32_601);
    if (!time.chance(unanswered)) return result;
    await process.pause(time.random() * timeoutMs);
    throw new ChainError("timeout", "the virtual node did not respond in time");
  };
  return {
    call: (method, params) => process.call(method, latencyMs, () => run(method, params)),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const nextNonce = (account: Hex, { state }: Block) => state.nextNonces.get(account) ?? 0;

function createHandlers({ time, chain, faults, onSend }: NodeOptions): Readonly<Record<string, Handler>> {
  const simulate = (call: Call, gas: bigint, view: Block) => {
    const { to, data } = call;
    if (data === domainSeparatorCall) return createResponse(separatorOf(chain.id));
    if (data === decimalsCall) return createResponse(`0x${encodeInteger(6n)}`);
    const see = views[data.slice(0, 10)];
    if (see !== undefined)
      return createResponse(`0x${encodeInteger(see(view.state, data.slice(74 - digits, 74), data.slice(74)))}`);
    const channelView = readChannelView(to, data, view.state);
    if (channelView !== undefined) return createResponse(channelView);
    if (isSameHex(contractWallet.address, to)) {
      const checked = findChecked(data);
      const isValid = checked !== undefined && isConfirmed(checked, view.state);
      return createResponse(isValid ? `${data.slice(0, 10)}${"0".repeat(56)}` : `0x${"f".repeat(64)}`);
    }
    if (![token.address, ...deployedAddress].some((contract) => isSameHex(contract, to))) return createResponse("0x");
    const done = chain.simulate(call, gas, view);
    if (done.revert !== undefined) return fail(`execution reverted: ${done.revert}`, 3);
    return createResponse(isMulticall(to) ? encodeResults(done) : "0x");
  };
  const take = (transaction: Transaction, view: Block): JsonRpcResponse => {
    const { hash, from, nonce, maxFee, tip } = transaction;
    const pooled = chain.pool.get(nameSlot(transaction));
    if (pooled?.hash === hash) return fail("already known");
    const next = nextNonce(from, view);
    if (nonce < next) return fail(`nonce too low: next nonce ${next}, tx nonce ${nonce}`);
    if (chain.broke.has(from)) return fail("insufficient funds for gas * price + value");
    if (pooled !== undefined && (maxFee * 10n < pooled.maxFee * 11n || tip * 10n < pooled.tip * 11n))
      return fail("replacement transaction underpriced");
    onSend(transaction);
    chain.sent.set(hash, transaction);
    if (!time.chance(faults().forgetting) && nonce >= nextNonce(from, chain.head()))
      chain.pool.set(nameSlot(transaction), transaction);
    return createResponse(hash);
  };
  const countPending = (from: Hex, view: Block): number => {
    let nonce = nextNonce(from, view);
    while (chain.pool.has(nameSlot({ from, nonce }))) nonce += 1;
    return nonce;
  };
  const findIncluded = (hash: unknown, view: Block) => {
    for (let index = view.number - 1; index >= 0; index -= 1) {
      const found = chain.blocks[index]?.included.find(({ transaction }) => transaction.hash === hash);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return {
    eth_chainId: () => createResponse(formatQuantity(chain.id)),
    eth_syncing: () => createResponse(false),
    eth_getCode: ([account]) =>
      createResponse(
        [...deployedAddress, contractWallet.address].some((one) => isSameHex(one, String(account))) ? "0x01" : "0x",
      ),
    eth_getBalance: ([account]) => createResponse(formatQuantity(chain.broke.has(account as Hex) ? 0n : 10n ** 24n)),
    eth_maxPriorityFeePerGas: () => createResponse(formatQuantity(1_000_000_000)),
    eth_getBlockByNumber: (_, { number, timestamp, baseFee }) =>
      createResponse({
        number: formatQuantity(number),
        timestamp: formatQuantity(timestamp),
        baseFeePerGas: formatQuantity(baseFee),
      }),
    eth_getTransactionCount: ([account, block], view) =>
      createResponse(formatQuantity((block === "pending" ? countPending : nextNonce)(account as Hex, view))),
    eth_getTransactionReceipt: ([hash], view) =>
      createResponse(time.chance(faults().hiding) ? null : (findIncluded(hash, view)?.receipt ?? null)),
    eth_getTransactionByHash: ([hash], view) => {
      const { to, data: input } = findIncluded(hash, view)?.transaction ?? {};
      return createResponse(to === undefined ? null : { to, input });
    },
    eth_sendRawTransaction: ([raw], view) => take(chain.decode(raw as Hex), view),
    eth_call: ([call], view) => simulate(call as Call, BigInt((call as Call).gas ?? 1_000_000), view),
    eth_estimateGas: ([call], view) => {
      const { revert, gas } = chain.simulate(call as Call, 10n ** 9n, view);
      return revert === undefined ? createResponse(formatQuantity(gas)) : fail(`execution reverted: ${revert}`, 3);
    },
    eth_getLogs: ([filter], view) => {
      const { topics, fromBlock, toBlock } = filter as LogFilter;
      const [first, last] = [Number(fromBlock), Math.min(Number(toBlock), view.number)];
      const found = chain.blocks
        .filter(({ number }) => number >= first && number <= last)
        .flatMap(({ included }) => included.map(({ receipt }) => receipt))
        .flatMap(({ logs, transactionHash }) => logs.map((log) => ({ ...log, transactionHash })))
        .filter((log) => topics.every((each, at) => each === null || [each].flat().includes(log.topics[at] ?? "0x")));
      return createResponse(found);
    },
  };
}
