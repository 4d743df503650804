import { rpcCodes } from "../errors.ts";
import {
  type CacheRule,
  dataParamsBytesMax as dataBytes,
  defineMethod,
  listParamsBytesMax as listBytes,
  type Method,
  neverCached,
  type Param,
  type ParamShape,
} from "./method.ts";

const param = (name: string, shape: ParamShape): Param => ({ name, shape });
const account = param("address", "address");
const block = param("block", "block");
const blockHash = param("blockHash", "blockHash");
const blockNumberOrHash = param("block", "blockNumberOrHash");
const call = param("call", "callObject");
const data = param("data", "data");
const full = param("fullTransactions", "boolean");
const index = param("index", "quantity");
const logFilter = param("filter", "logFilter");
const optionalBlock: Param = { ...block, optional: true };
const signedTx = param("transaction", "data");
const slot = param("slot", "quantity");
const storageKeys = param("storageKeys", "storageKeys");
const subscribe: readonly Param[] = [param("type", "subscriptionType"), { ...logFilter, optional: true }];
const subscription = param("subscription", "subscriptionId");
const traceFilter = param("filter", "traceFilter");
const tracer: Param = { name: "options", shape: "tracerOptions", optional: true };
const tx = param("transactionHash", "hash");
const feeHistory = [
  param("blockCount", "quantity"),
  param("newestBlock", "block"),
  param("rewardPercentiles", "percentiles"),
];

const perHead: CacheRule = { kind: "head" };
const byHash: CacheRule = { kind: "hash" };
const byRange: CacheRule = { kind: "logs" };
const whileConnected: CacheRule = { kind: "constant" };
/** Cache rule of a method whose parameter at index `at` is a block. */
const byBlock = (at: number): CacheRule => ({ kind: "block", at });

const blockOrNull = "block object, or null";
const txOrNull = "transaction object, or null";
const isPrivate = { audience: "private" } as const;
const internal = { audience: "internal" } as const;
const isState = { whileBehind: true } as const;
const privateState = { ...isPrivate, ...isState };
const hashes = { ...privateState, paramsBytes: dataBytes };
const byGateway = { answeredBy: "gateway" } as const;
const overWebSocket = { answeredBy: "gateway", repeatable: false, webSocketOnly: true } as const;
const subscribes = { ...overWebSocket, paramsBytes: listBytes };
const takesList = { paramsBytes: listBytes } as const;
const runsCall = { limit: { kind: "gas" }, paramsBytes: dataBytes } as const;
/** geth limits eth_call to 5 s (--rpc.evmtimeout), but not eth_createAccessList. */
const runsCallOften = { limit: { kind: "gas", isRepeated: true }, paramsBytes: dataBytes, timeoutMs: 5_000 } as const;
const submits = { repeatable: false, whileBehind: true, paramsBytes: dataBytes } as const;
const readsLogs = { limit: { kind: "logs" }, paramsBytes: listBytes, timeoutMs: 20_000 } as const;
const traceMs = 30_000;
const tracesRange = { limit: { kind: "traceRange" }, paramsBytes: listBytes, timeoutMs: traceMs } as const;
/** Limit and timeout of a method with tracer options at parameter `at`. */
const traces = (at: number) => ({ limit: { kind: "tracer", at }, timeoutMs: traceMs }) as const;
const tracesCall = {
  limit: { kind: "tracer", at: 2, overrides: true },
  paramsBytes: dataBytes,
  timeoutMs: traceMs,
} as const;
const blockTraces = "Call traces of a block's transactions";

type Row = Parameters<typeof defineMethod>;

/** Specification, "Standard methods", grouped as in Ethereum's execution-apis: fees, client, state, execution, blocks, transactions, logs. */
const standardMethods: readonly Row[] = [
  ["eth_gasPrice", [], "quantity", perHead, 10, "Gas price in Wei"],
  ["eth_maxPriorityFeePerGas", [], "quantity", perHead, 10, "Priority fee in Wei"],
  ["eth_feeHistory", feeHistory, "fee history object", byBlock(1), 20, "Fees, gas used and rewards of past blocks"],

  ["eth_blockNumber", [], "quantity", perHead, 10, "Number of the latest block"],
  ["eth_chainId", [], "quantity", whileConnected, 1, "Chain id", isState],
  ["eth_syncing", [], "sync status object, or false", neverCached, 5, "Sync status", isState],

  ["eth_getBalance", [account, block], "quantity", byBlock(1), 15, "Balance of an account in Wei"],
  ["eth_getTransactionCount", [account, block], "quantity", byBlock(1), 15, "Nonce of an account"],
  ["eth_getStorageAt", [account, slot, block], "data", byBlock(2), 15, "Value of a storage slot"],
  ["eth_getCode", [account, block], "data", byBlock(1), 20, "Bytecode of an account"],
  [
    "eth_getProof",
    [account, storageKeys, block],
    "proof object",
    byBlock(2),
    40,
    "Proof of an account (EIP-1186)",
    takesList,
  ],

  ["eth_call", [call, block], "data", byBlock(1), 26, "Result of a call without state changes", runsCall],
  ["eth_estimateGas", [call, optionalBlock], "quantity", byBlock(1), 40, "Gas required by a call", runsCall],
  [
    "eth_createAccessList",
    [call, block],
    "access list result",
    byBlock(1),
    40,
    "Access list and gas (EIP-2930)",
    runsCallOften,
  ],

  ["eth_getBlockByHash", [blockHash, full], blockOrNull, byHash, 20, "Block by hash"],
  ["eth_getBlockByNumber", [block, full], blockOrNull, byBlock(0), 20, "Block by number"],
  ["eth_getBlockReceipts", [blockNumberOrHash], "array of receipts", byBlock(0), 40, "Receipts of a block"],
  ["eth_getBlockTransactionCountByHash", [blockHash], "quantity", byHash, 10, "Transactions in a block"],
  ["eth_getBlockTransactionCountByNumber", [block], "quantity", byBlock(0), 10, "Transactions in a block"],

  ["eth_sendRawTransaction", [signedTx], "transaction hash", neverCached, 40, "Submits a signed transaction", submits],
  ["eth_getTransactionByHash", [tx], txOrNull, perHead, 15, "Transaction by hash"],
  ["eth_getTransactionByBlockHashAndIndex", [blockHash, index], txOrNull, byHash, 15, "Transaction by its index"],
  ["eth_getTransactionByBlockNumberAndIndex", [block, index], txOrNull, byBlock(0), 15, "Transaction by its index"],
  ["eth_getTransactionReceipt", [tx], "receipt object, or null", perHead, 15, "Receipt of a transaction"],

  ["eth_getLogs", [logFilter], "array of log entries", byRange, 75, "Log entries that match a filter", readsLogs],
  ["eth_subscribe", subscribe, "subscription id", neverCached, 10, "Subscribes to newHeads or logs", subscribes],
  ["eth_unsubscribe", [subscription], "true", neverCached, 10, "Cancels a subscription", overWebSocket],
];

/** Specification, "Network, web3, pool methods", and the gateway's description of itself. */
const networkMethods: readonly Row[] = [
  ["net_version", [], "decimal string", whileConnected, 1, "Network id", isState],
  ["net_listening", [], "true", neverCached, 1, "Whether the node listens for peers", privateState],
  ["net_peerCount", [], "quantity", neverCached, 5, "Number of the node's peers", privateState],
  ["web3_clientVersion", [], "string", whileConnected, 1, "Client and version of the node", isState],
  ["web3_sha3", [data], "hash", neverCached, 10, "Keccak-256 hash of data", hashes],
  ["txpool_nonceFrom", [account], "quantity", neverCached, 15, "Next nonce of an account, from the pool", isPrivate],
  ["rpc.discover", [], "OpenRPC document", neverCached, 20, "Methods of the listener", byGateway],
];

/** Specification, "Debug and trace methods". Where a tracer can be specified, only `callTracer` is allowed. */
const debugMethods: readonly Row[] = [
  ["debug_traceTransaction", [tx, tracer], "trace object", perHead, 150, "Call trace of a transaction", traces(1)],
  [
    "debug_traceCall",
    [call, block, tracer],
    "trace object",
    byBlock(1),
    150,
    "Call trace of a simulated call",
    tracesCall,
  ],
  ["debug_traceBlockByHash", [blockHash, tracer], "array of traces", byHash, 400, blockTraces, traces(1)],
  ["debug_traceBlockByNumber", [block, tracer], "array of traces", byBlock(0), 400, blockTraces, traces(1)],
  ["debug_getRawBlock", [blockNumberOrHash], "data", byBlock(0), 30, "RLP of a block"],
  ["debug_getRawHeader", [blockNumberOrHash], "data", byBlock(0), 30, "RLP of a block's header"],
  ["debug_getRawReceipts", [blockNumberOrHash], "array of data", byBlock(0), 40, "RLP of a block's receipts"],
  ["debug_getRawTransaction", [tx], "data", perHead, 20, "RLP of a transaction"],
  ["debug_protocolVersion", [], "protocol version info", neverCached, 5, "Protocol versions of the node", isPrivate],
  ["trace_filter", [traceFilter], "array of traces", byRange, 300, "Traces by sender and receiver", tracesRange],
];

/** Specification, "Extension methods". */
const extensionMethods: readonly Row[] = [
  ["eth_getAccount", [account, block], "account object", byBlock(1), 20, "Account with code hash and storage root"],
  ["eth_getProposerByTxHash", [tx], "proposer information object", perHead, 20, "Proposer of its block", isPrivate],
  ["eth_getProposersByBlockNumber", [block], "array of addresses", byBlock(0), 20, "Proposers of a block", isPrivate],
  ["debug_getValidatorInfo", [optionalBlock], "validator details object", byBlock(0), 40, "Validators at a block"],
  ["debug_getBlockProof", [block], "block proof object", byBlock(0), 60, "Proof of a block, with BLS signatures"],
  ["debug_getBlockReadStates", [block], "read state data", byBlock(0), 200, "State that a block read", internal],
  ["debug_getBlockWriteStates", [block], "write state data", byBlock(0), 200, "State that a block wrote", internal],
  [
    "debug_getBlockWriteSetKeys",
    [block],
    "array of write set keys",
    byBlock(0),
    200,
    "Keys that a block wrote",
    internal,
  ],
];

/** Specification, "Placeholder methods": the gateway answers them with constants. */
const placeholderMethods: readonly Row[] = [
  placeholder("eth_coinbase", '"0x0"'),
  placeholder("eth_mining", "false"),
  placeholder("eth_hashrate", '"0x0"'),
  placeholder("eth_accounts", "[]"),
  placeholder("eth_pendingTransactions", "[]"),
  placeholder("eth_getCompilers", "[]"),
  placeholder("eth_getUncleCountByBlockHash", "null", [blockHash]),
  placeholder("eth_getUncleCountByBlockNumber", "null", [block]),
  placeholder("eth_getUncleByBlockHashAndIndex", "null", [blockHash, index]),
  placeholder("eth_getUncleByBlockNumberAndIndex", "null", [block, index]),
];

function placeholder(name: string, constant: string, params: readonly Param[] = []): Row {
  const summary = "Placeholder for clients that expect proof of work; always the same";
  return [name, params, `always \`${constant}\``, neverCached, 1, summary, { answeredBy: "gateway", constant }];
}

/** Specification, "Declared but unimplemented". */
const unimplementedMethods: readonly Row[] = [
  unimplemented("eth_batchGetBlockByNumber"),
  unimplemented("eth_batchGetTransactionByHash"),
  unimplemented("eth_batchGetTransactionReceipt"),
  unimplemented("eth_batchGetBlockReceipts"),
];

function unimplemented(name: string): Row {
  const summary = "Declared but not implemented: METHOD_NOT_FOUND";
  const unavailable = { audience: "nobody", answeredBy: "nobody" } as const;
  return [name, [], `error ${rpcCodes.methodNotFound}`, neverCached, 1, summary, unavailable];
}

/** Every method in the specification: the only list of methods. */
export const specifiedMethods: readonly Method[] = [
  ...standardMethods,
  ...networkMethods,
  ...debugMethods,
  ...extensionMethods,
  ...placeholderMethods,
  ...unimplementedMethods,
].map((row) => defineMethod(...row));
