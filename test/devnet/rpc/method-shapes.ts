import { z } from "zod";
import type { TestSubject } from "#devnet/testing/rpc-subject.ts";

const hex = z.string().regex(/^0x[0-9a-f]*$/);
const quantity = z.string().regex(/^0x(0|[1-9a-f][0-9a-f]*)$/);
const word = z.string().regex(/^0x[0-9a-f]{64}$/);
const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);

const log = z.looseObject({ address, topics: z.array(word), data: hex, blockNumber: quantity, transactionHash: word });
const receipt = z.looseObject({ transactionHash: word, status: quantity, gasUsed: quantity, logs: z.array(log) });
const transaction = z.looseObject({ hash: word, from: address, nonce: quantity, input: hex, gas: quantity });
const header = {
  number: quantity,
  hash: word,
  parentHash: word,
  timestamp: quantity,
  miner: address,
  gasUsed: quantity,
};
const block = z.looseObject({ ...header, transactions: z.array(word) });
const frame = z.looseObject({ type: z.string(), from: address, gas: quantity, gasUsed: quantity, input: hex });
const parityTrace = z.looseObject({ action: z.looseObject({}), traceAddress: z.array(z.int()), transactionHash: word });
const identity = { blockNumber: quantity, blockHash: word };
const states = z.strictObject({ ...identity, states: z.record(address, z.looseObject({})) });
const blockProof = z.strictObject({
  ...identity,
  signers: z.array(z.string().regex(/^0x[0-9a-f]{96}$/)).length(3),
  aggregateSignature: z.string().regex(/^0x[0-9a-f]{192}$/),
});
const validatorInfo = z.looseObject({ ...identity, validators: z.array(z.looseObject({ address })).length(4) });
const proof = z.looseObject({
  balance: quantity,
  codeHash: word,
  nonce: quantity,
  storageHash: word,
  accountProof: z.array(hex).min(1),
  storageProof: z.array(z.strictObject({ key: hex, value: quantity, proof: z.array(hex).min(1) })).length(1),
});

export type MethodShape = readonly [string, readonly unknown[], z.ZodType];

export function listMethodShapes(it: TestSubject): readonly MethodShape[] {
  const call = { from: it.account, to: it.contract, data: `0x${"07".repeat(32)}` };
  const tracer = { tracer: "callTracer" };
  return [
    ["eth_gasPrice", [], quantity],
    ["eth_maxPriorityFeePerGas", [], quantity],
    [
      "eth_feeHistory",
      ["0x2", "latest", [25, 75]],
      z.looseObject({
        baseFeePerGas: z.array(quantity).length(3),
        gasUsedRatio: z.array(z.number()).length(2),
        reward: z.array(z.array(quantity).length(2)).length(2),
      }),
    ],
    ["eth_blockNumber", [], quantity],
    ["eth_chainId", [], z.literal("0x688")],
    ["eth_syncing", [], z.literal(false)],
    ["eth_getBalance", [it.account, "latest"], quantity],
    ["eth_getTransactionCount", [it.account, "latest"], quantity],
    ["eth_getStorageAt", [it.contract, "0x0", "latest"], word],
    ["eth_getCode", [it.contract, "latest"], hex],
    ["eth_getProof", [it.contract, ["0x0"], "latest"], proof],
    ["eth_sendRawTransaction", [it.signed], word],
    ["eth_call", [call, "latest"], hex],
    ["eth_estimateGas", [call], quantity],
    ["eth_createAccessList", [call, "latest"], z.looseObject({ accessList: z.array(z.unknown()), gasUsed: quantity })],
    ["eth_getBlockByHash", [it.blockHash, false], block],
    [
      "eth_getBlockByNumber",
      [it.blockNumber, true],
      z.looseObject({ ...header, transactions: z.array(transaction).min(1) }),
    ],
    ["eth_getBlockReceipts", [it.blockNumber], z.array(receipt).min(1)],
    ["eth_getBlockTransactionCountByHash", [it.blockHash], quantity],
    ["eth_getBlockTransactionCountByNumber", [it.blockNumber], quantity],
    ["eth_getTransactionByHash", [it.transaction], transaction],
    ["eth_getTransactionByBlockHashAndIndex", [it.blockHash, "0x0"], transaction],
    ["eth_getTransactionByBlockNumberAndIndex", [it.blockNumber, "0x0"], transaction],
    ["eth_getTransactionReceipt", [it.transaction], receipt],
    ["eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest" }], z.array(log).min(1)],
    ["net_version", [], z.literal("1672")],
    ["net_listening", [], z.literal(true)],
    ["net_peerCount", [], quantity],
    ["web3_clientVersion", [], z.string().includes("v0.16.2")],
    ["web3_sha3", ["0x1234"], z.literal("0x56570de287d73cd1cb6092bb8fdee6173974955fdef345ae579ee9f475ea7432")],
    ["txpool_nonceFrom", [it.account], quantity],
    ["debug_traceTransaction", [it.transaction, tracer], frame],
    ["debug_traceCall", [call, "latest", tracer], frame],
    ["debug_traceBlockByHash", [it.blockHash, tracer], z.array(z.strictObject({ txHash: word, result: frame })).min(1)],
    ["debug_traceBlockByNumber", [it.blockNumber], z.array(z.strictObject({ txHash: word, result: frame })).min(1)],
    ["debug_getRawBlock", [it.blockNumber], hex],
    ["debug_getRawHeader", [it.blockHash], hex],
    ["debug_getRawReceipts", ["latest"], z.array(hex)],
    ["debug_getRawTransaction", [it.transaction], hex],
    [
      "debug_protocolVersion",
      [],
      z.strictObject({
        binaryVersion: z.literal("0.16.2"),
        currentSpecVersion: z.int(),
        currentStableBlock: quantity,
        higherSpecVersions: z.array(z.unknown()),
        protocolVersion: z.int(),
      }),
    ],
    ["trace_filter", [{ fromBlock: "0x0", toBlock: it.blockNumber }], z.array(parityTrace).min(1)],
    [
      "eth_getAccount",
      [it.contract, "latest"],
      z.strictObject({ balance: quantity, nonce: quantity, codeHash: word, storageRoot: word }),
    ],
    ["eth_getProposerByTxHash", [it.transaction], z.looseObject({ proposer: address, blockNumber: quantity })],
    ["eth_getProposersByBlockNumber", [it.blockNumber], z.array(address).length(1)],
    ["debug_getValidatorInfo", [], validatorInfo],
    ["debug_getBlockProof", [it.blockNumber], blockProof],
    ["debug_getBlockReadStates", [it.blockNumber], states],
    ["debug_getBlockWriteStates", [it.blockNumber], states],
    ["debug_getBlockWriteSetKeys", [it.blockNumber], z.array(hex).min(1)],
    ["eth_coinbase", [], z.literal("0x0")],
    ["eth_mining", [], z.literal(false)],
    ["eth_hashrate", [], z.literal("0x0")],
    ["eth_accounts", [], z.array(z.never())],
    ["eth_pendingTransactions", [], z.array(z.never())],
    ["eth_getCompilers", [], z.array(z.never())],
    ["eth_getUncleCountByBlockHash", [it.blockHash], z.null()],
    ["eth_getUncleCountByBlockNumber", [it.blockNumber], z.null()],
    ["eth_getUncleByBlockHashAndIndex", [it.blockHash, "0x0"], z.null()],
    ["eth_getUncleByBlockNumberAndIndex", [it.blockNumber, "0x0"], z.null()],
  ];
}
