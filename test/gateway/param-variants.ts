import type { TestSubject } from "#devnet/testing/rpc-subject.ts";
import type { Method, ParamShape } from "#gateway/catalogue/method.ts";

/** Valid values of each shape of parameter, the simplest first. */
export type ParamValues = Readonly<Record<ParamShape, readonly unknown[]>>;

export type VariedCall = Readonly<{ method: string; params: readonly unknown[] }>;

const zeroAddress = `0x${"0".repeat(40)}`;
const identityPrecompile = `0x${"4".padStart(40, "0")}`;
const unknownHash = `0x${"de".repeat(32)}`;
const slot = (number: number) => `0x${number.toString(16).padStart(64, "0")}`;

/** Values that refer to objects on a test node's chain. */
export function buildParamValues(subject: TestSubject): ParamValues {
  const { account, contract, caller, written, blockHash, transaction } = subject;
  const block = `0x${BigInt(subject.blockNumber).toString(16)}`;
  const blocks = [block, "latest", "earliest", "safe", "finalized", "pending", "0x0", "0x1", "0xffffff"];
  return {
    address: [contract, account, caller, zeroAddress, contract.toLowerCase()],
    block: blocks,
    blockHash: [blockHash, unknownHash],
    blockNumberOrHash: [...blocks, { blockNumber: block }, { blockHash }, { blockHash, requireCanonical: true }],
    boolean: [true, false],
    callObject: [
      { to: contract, data: written },
      { from: account, to: contract, data: written, gas: "0x186a0" },
      { to: contract, input: written },
      { from: account, to: zeroAddress, value: "0x1" },
      { to: identityPrecompile, data: "0x00112233" },
      { from: account, data: "0x6001600155" },
      { from: account, to: caller, data: written, gasPrice: "0x77359400" },
      { from: account, to: contract, maxFeePerGas: "0x77359400", maxPriorityFeePerGas: "0x1" },
      { from: account, to: contract, accessList: [{ address: contract, storageKeys: [slot(0)] }] },
    ],
    data: [written, "0x", "0x00", `0x${"ab".repeat(1_000)}`],
    hash: [transaction, unknownHash],
    logFilter: [
      { fromBlock: "0x0", toBlock: block },
      {},
      { fromBlock: "earliest", toBlock: "latest" },
      { fromBlock: block },
      { blockHash },
      { fromBlock: "0x0", toBlock: block, address: contract },
      { fromBlock: "0x0", toBlock: block, address: [contract, caller] },
      { fromBlock: "0x0", toBlock: block, address: [] },
      { fromBlock: "0x0", toBlock: block, topics: [] },
      { fromBlock: "0x0", toBlock: block, topics: [null, unknownHash] },
      { fromBlock: "0x0", toBlock: block, topics: [[unknownHash, written], null] },
    ],
    percentiles: [[25, 75], [], [0, 50, 100], [0.5]],
    quantity: ["0x0", "0x1", "0x2", "0xff", 2, "2"],
    storageKeys: [[slot(0)], [], [slot(0), slot(1)], ["0x0"]],
    subscriptionId: ["0x1"],
    subscriptionType: ["newHeads"],
    traceFilter: [
      { fromBlock: "0x0", toBlock: block },
      { fromBlock: block, toBlock: "latest" },
      { fromBlock: "0x1", toBlock: block, fromAddress: [account] },
      { fromBlock: "0x1", toBlock: block, toAddress: [contract] },
      { fromBlock: "0x1", toBlock: block, fromAddress: [account], toAddress: [caller], after: 0, count: 2 },
      { fromBlock: "0x1", toBlock: block, after: 1, count: 1 },
    ],
    tracerOptions: [
      { tracer: "callTracer" },
      { tracer: "callTracer", tracerConfig: { onlyTopCall: true } },
      { tracer: "callTracer", tracerConfig: { withLog: true } },
      { tracer: "callTracer", tracerConfig: { onlyTopCall: false, withLog: false }, timeout: "5s" },
    ],
  };
}

/** Lists calls of a method: each value of each parameter, with the simplest values of the others, and without the optional ones. */
export function listVariedCalls({ name, params }: Method, values: ParamValues): readonly VariedCall[] {
  const plainest = params.map(({ shape }) => values[shape][0]);
  const varied = params.flatMap(({ shape }, at) => values[shape].map((value) => plainest.with(at, value)));
  const shorter = params.flatMap(({ optional }, at) => (optional === true ? [plainest.slice(0, at)] : []));
  const all = [plainest, ...varied, ...shorter].map((given) => JSON.stringify(given));
  return [...new Set(all)].map((given) => ({ method: name, params: JSON.parse(given) as unknown[] }));
}
