import type { Hex, TransactionSerialized } from "viem";
import { createExtensionMethods, type Method, type Node } from "./extension-methods.ts";
import { errorCode, RpcError } from "./rpc-error.ts";

/** Methods for which anvil responds as specified. */
const forwarded = [
  ..."eth_gasPrice eth_maxPriorityFeePerGas eth_blockNumber eth_chainId eth_syncing".split(" "),
  ..."eth_getBalance eth_getTransactionCount eth_getStorageAt eth_getCode eth_getAccount".split(" "),
  ..."eth_call eth_estimateGas eth_createAccessList eth_getBlockByHash eth_getBlockByNumber".split(" "),
  ..."eth_getBlockTransactionCountByHash eth_getTransactionByHash".split(" "),
  ..."eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex".split(" "),
  ..."eth_getTransactionReceipt eth_getLogs net_version web3_sha3 debug_getRawTransaction".split(" "),
];

/** Results of the placeholder methods, whatever their parameters (specification, "Placeholder methods"), and of a node without peers. */
const constants: Readonly<Record<string, unknown>> = {
  eth_coinbase: "0x0",
  eth_mining: false,
  eth_hashrate: "0x0",
  eth_accounts: [],
  eth_pendingTransactions: [],
  eth_getCompilers: [],
  eth_getUncleCountByBlockHash: null,
  eth_getUncleCountByBlockNumber: null,
  eth_getUncleByBlockHashAndIndex: null,
  eth_getUncleByBlockNumberAndIndex: null,
  net_listening: true,
  net_peerCount: "0x0",
};

/** Creates the node's methods over HTTP (specification, "JSON-RPC interface"), by name. Any other method is METHOD_NOT_FOUND. */
export function createMethods(node: Node): ReadonlyMap<string, Method> {
  const { anvil } = node;
  const own: Readonly<Record<string, Method>> = {
    web3_clientVersion: async () => node.clientVersion,
    eth_feeHistory: (params) => readFeeHistory(params, anvil),
    // Like geth, accepts storage keys of fewer than 64 digits, which anvil rejects.
    eth_getProof: ([account, keys, block]) => anvil.request("eth_getProof", [account, padStorageKeys(keys), block]),
    // anvil has no receipts for the pending block, whose transactions have not run.
    eth_getBlockReceipts: async ([id]) =>
      (await anvil.request("eth_getBlockReceipts", [id])) ?? (id === "pending" ? [] : null),
    txpool_nonceFrom: ([account]) => anvil.request("eth_getTransactionCount", [account, "pending"]),
    eth_sendRawTransaction: async ([raw]) => {
      await checkRawTransaction(String(raw) as Hex, anvil);
      return anvil.request("eth_sendRawTransaction", [raw]);
    },
    eth_getBlockTransactionCountByNumber: async ([id]) => {
      const block = await anvil.request<{ transactions: readonly unknown[] } | null>("eth_getBlockByNumber", [
        id,
        false,
      ]);
      return block && toQuantity(block.transactions.length);
    },
    debug_traceTransaction: ([hash, options]) => traceTransaction(node, hash, options),
    debug_traceCall: ([call, block = "latest", options]) =>
      anvil.request("debug_traceCall", [call, block, readTracer(options)]),
    debug_traceBlockByHash: (params) => traceBlock(node, "eth_getBlockByHash", params),
    debug_traceBlockByNumber: (params) => traceBlock(node, "eth_getBlockByNumber", params),
    trace_filter: ([filter]) => filterTraces(node, filter as TraceFilter),
    eth_subscribe: rejectSubscription,
    eth_unsubscribe: rejectSubscription,
  };
  return new Map<string, Method>([
    ...forwarded.map((name) => [name, (params: readonly unknown[]) => anvil.request(name, params)] as const),
    ...Object.entries(constants).map(([name, result]) => [name, async () => result] as const),
    ...Object.entries({ ...own, ...createExtensionMethods(node) }),
  ]);
}

/** Base fees of the blocks and of the one after them, which anvil takes from its head instead. */
async function readFeeHistory(params: readonly unknown[], anvil: Node["anvil"]): Promise<unknown> {
  type FeeHistory = { oldestBlock: Hex; baseFeePerGas: readonly Hex[] };
  const history = await anvil.request<FeeHistory>("eth_feeHistory", params);
  const next = toQuantity(Number(history.oldestBlock) + history.baseFeePerGas.length - 1);
  const block = await anvil.request<{ baseFeePerGas: Hex } | null>("eth_getBlockByNumber", [next, false]);
  if (block === null) return history;
  return { ...history, baseFeePerGas: [...history.baseFeePerGas.slice(0, -1), block.baseFeePerGas] };
}

function padStorageKeys(keys: unknown): unknown {
  return Array.isArray(keys) ? keys.map(padStorageKey) : keys;
}

function padStorageKey(key: unknown): unknown {
  const [, digits] = /^0x([\da-f]{1,63})$/i.exec(String(key)) ?? [];
  return digits === undefined ? key : `0x${digits.padStart(64, "0")}`;
}

const rejectSubscription: Method = async () => {
  throw new RpcError(errorCode.methodNotFound, "notifications not supported");
};

/**
 * Rejects, with geth's messages, a signed transaction for another chain (EIP-155), for which anvil would return a hash and then drop it,
 * and types other than the specification's: legacy (an RLP list), EIP-2930 and EIP-1559.
 *
 * @throws {RpcError} -32000.
 */
async function checkRawTransaction(raw: Hex, anvil: Node["anvil"]): Promise<void> {
  const first = Number.parseInt(raw.slice(2, 4), 16);
  if (first < 0xc0 && first !== 1 && first !== 2) {
    throw new RpcError(errorCode.server, "transaction type not supported");
  }
  // Loaded on first use, to keep the node's start fast.
  const { BaseError, parseTransaction } = await import("viem");
  try {
    const { chainId: have } = parseTransaction(raw as TransactionSerialized);
    const want = Number(await anvil.request("eth_chainId"));
    if (have === undefined || have === want) return;
    throw new RpcError(errorCode.server, `invalid sender: invalid chain id for signer: have ${have} want ${want}`);
  } catch (error) {
    // The chain rejects a transaction that can't be parsed here.
    if (!(error instanceof BaseError)) throw error;
  }
}

/** Reads trace options. `callTracer` is the default, and the node's only tracer (specification, "Debug and trace methods"). */
function readTracer(options: unknown): object {
  const { tracer = "callTracer", ...others } = (options ?? {}) as { tracer?: unknown };
  if (tracer === "callTracer") return { ...others, tracer };
  const message = `tracer ${JSON.stringify(tracer)} is not supported: only callTracer is supported`;
  throw new RpcError(errorCode.invalidParams, message);
}

/** Traces a transaction; the outermost frame has the transaction's gas, as in geth, while anvil's lacks the intrinsic gas. */
async function traceTransaction({ anvil }: Node, hash: unknown, options: unknown): Promise<object> {
  const tracer = readTracer(options);
  const transaction = await anvil.request<{ gas: Hex } | null>("eth_getTransactionByHash", [hash]);
  const receipt = await anvil.request<{ gasUsed: Hex } | null>("eth_getTransactionReceipt", [hash]);
  if (transaction === null || receipt === null) throw new RpcError(errorCode.server, "transaction not found");
  const frame = await anvil.request<object>("debug_traceTransaction", [hash, tracer]);
  return { ...frame, gas: transaction.gas, gasUsed: receipt.gasUsed };
}

async function traceBlock(node: Node, method: string, [id, options]: readonly unknown[]): Promise<readonly object[]> {
  const block = await node.anvil.request<{ number: Hex; transactions: readonly Hex[] } | null>(method, [id, false]);
  if (block === null) throw new RpcError(errorCode.server, `block ${String(id)} not found`);
  if (Number(block.number) === 0) throw new RpcError(errorCode.server, "genesis is not traceable");
  const results: object[] = [];
  for (const txHash of block.transactions) {
    results.push({ txHash, result: await traceTransaction(node, txHash, options) });
  }
  return results;
}

/** Filter of `trace_filter` (specification, "JSON-RPC objects with known fields"). */
type TraceFilter = Readonly<{
  fromBlock?: string;
  toBlock?: string;
  fromAddress?: readonly string[];
  toAddress?: readonly string[];
  mode?: string;
  after?: number | Hex;
  count?: number | Hex;
}>;

/** Blocks that anvil searches in one call (it allows 300). */
const blocksPerCall = 250;

/** Lists the traces in a block range, skipping the first `after`, at most `count`. */
async function filterTraces({ anvil }: Node, filter: TraceFilter): Promise<readonly unknown[]> {
  const { fromBlock = "earliest", toBlock = "latest", fromAddress = [], toAddress = [], mode = "union" } = filter;
  const resolve = async (id: string) =>
    Number(
      id.startsWith("0x") ? id : (await anvil.request<{ number: Hex }>("eth_getBlockByNumber", [id, false])).number,
    );
  const [first, to, head] = [await resolve(fromBlock), await resolve(toBlock), await resolve("latest")];
  if (first > to) throw new RpcError(errorCode.invalidParams, "invalid block range params");
  const last = Math.min(to, head);
  const after = Number(filter.after ?? 0);
  const end = after + Number(filter.count ?? Number.POSITIVE_INFINITY);
  const found: unknown[] = [];
  for (let from = first; from <= last && found.length < end; from += blocksPerCall) {
    const blocks = { fromBlock: toQuantity(from), toBlock: toQuantity(Math.min(from + blocksPerCall - 1, last)) };
    found.push(
      ...(await anvil.request<readonly unknown[]>("trace_filter", [{ ...blocks, fromAddress, toAddress, mode }])),
    );
  }
  return found.slice(after, end);
}

function toQuantity(value: number): Hex {
  return `0x${value.toString(16)}`;
}
