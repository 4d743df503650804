import { Ajv, type ValidateFunction } from "ajv";

/** JSON Schemas for the results in Ethereum's execution API, strict: an undocumented field is an error. */
const text = (pattern: string) => ({ type: "string", pattern }) as const;
const bytesOf = (count: number) => text(`^0x[0-9a-f]{${count * 2}}$`);
const quantity = text("^0x(0|[1-9a-f][0-9a-f]*)$");
const word = bytesOf(32);
const address = text("^0x[0-9a-fA-F]{40}$");
const bytes = text("^0x([0-9a-f]{2})*$");
const byte = text("^0x[0-9a-f]{1,2}$");
const listOf = (items: object) => ({ type: "array", items }) as const;
const orNull = (schema: object) => ({ anyOf: [schema, { type: "null" }] }) as const;
const share = { type: "number", minimum: 0, maximum: 1 } as const;

type Properties = Readonly<Record<string, object>>;

/** Builds the schema of an object that has all of `required`, any of `optional`, and nothing else. */
function buildObjectSchema(required: Properties, optional: Properties = {}) {
  return {
    type: "object",
    required: Object.keys(required),
    properties: { ...required, ...optional },
    additionalProperties: false,
  } as const;
}

const accessList = listOf(buildObjectSchema({ address, storageKeys: listOf(word) }));

const log = buildObjectSchema({
  address,
  topics: { ...listOf(word), maxItems: 4 },
  data: bytes,
  blockHash: word,
  blockNumber: quantity,
  blockTimestamp: quantity,
  transactionHash: word,
  transactionIndex: quantity,
  logIndex: quantity,
  removed: { type: "boolean" },
});

const receipt = buildObjectSchema({
  type: byte,
  transactionHash: word,
  transactionIndex: quantity,
  blockHash: word,
  blockNumber: quantity,
  from: address,
  to: orNull(address),
  contractAddress: orNull(address),
  cumulativeGasUsed: quantity,
  gasUsed: quantity,
  effectiveGasPrice: quantity,
  logs: listOf(log),
  logsBloom: bytesOf(256),
  status: { enum: ["0x0", "0x1"] },
});

/** Builds the schema of a transaction; `placed` wraps the schemas of the fields set only in a mined transaction. */
function defineTransaction(placed: (schema: object) => object) {
  const common = {
    blockHash: placed(word),
    blockNumber: placed(quantity),
    blockTimestamp: placed(quantity),
    transactionIndex: placed(quantity),
    hash: word,
    from: address,
    to: orNull(address),
    nonce: quantity,
    gas: quantity,
    value: quantity,
    input: bytes,
    gasPrice: quantity,
    r: quantity,
    s: quantity,
    v: quantity,
  };
  const typed = { ...common, v: byte, yParity: { enum: ["0x0", "0x1"] }, chainId: quantity, accessList };
  return {
    oneOf: [
      buildObjectSchema({ ...common, type: { const: "0x0" } }, { chainId: quantity }),
      buildObjectSchema({ ...typed, type: { const: "0x1" } }),
      buildObjectSchema({ ...typed, type: { const: "0x2" }, maxFeePerGas: quantity, maxPriorityFeePerGas: quantity }),
    ],
  } as const;
}

const minedTransaction = defineTransaction((schema) => schema);

function defineBlock(transactions: object) {
  return buildObjectSchema({
    hash: word,
    parentHash: word,
    sha3Uncles: word,
    miner: address,
    stateRoot: word,
    transactionsRoot: word,
    receiptsRoot: word,
    logsBloom: bytesOf(256),
    difficulty: quantity,
    number: quantity,
    gasLimit: quantity,
    gasUsed: quantity,
    timestamp: quantity,
    extraData: bytes,
    mixHash: word,
    nonce: bytesOf(8),
    baseFeePerGas: quantity,
    withdrawalsRoot: word,
    blobGasUsed: quantity,
    excessBlobGas: quantity,
    parentBeaconBlockRoot: word,
    size: quantity,
    transactions: listOf(transactions),
    withdrawals: { ...listOf(buildObjectSchema({})), maxItems: 0 },
    uncles: listOf(word),
  });
}

const schemas = {
  block: defineBlock(word),
  fullBlock: defineBlock(minedTransaction),
  log,
  receipt,
  transaction: minedTransaction,
  waitingTransaction: defineTransaction(() => ({ type: "null" })),
  feeHistory: buildObjectSchema(
    { oldestBlock: quantity, baseFeePerGas: listOf(quantity), gasUsedRatio: listOf(share) },
    { reward: listOf(listOf(quantity)), baseFeePerBlobGas: listOf(quantity), blobGasUsedRatio: listOf(share) },
  ),
  proof: buildObjectSchema({
    address,
    balance: quantity,
    nonce: quantity,
    codeHash: word,
    storageHash: word,
    accountProof: listOf(bytes),
    storageProof: listOf(buildObjectSchema({ key: text("^0x[0-9a-f]{0,64}$"), value: quantity, proof: listOf(bytes) })),
  }),
  accessListResult: buildObjectSchema({ accessList, gasUsed: quantity }, { error: { type: "string" } }),
  syncing: {
    oneOf: [
      { const: false },
      buildObjectSchema({ startingBlock: quantity, currentBlock: quantity, highestBlock: quantity }),
    ],
  },
} as const;

export type ExecutionObject = keyof typeof schemas;

const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false });
const validators = new Map<ExecutionObject, ValidateFunction>(
  (Object.keys(schemas) as ExecutionObject[]).map((name) => [name, ajv.compile(schemas[name])]),
);

/** Finds the schema violations of a result, each with its path; empty if there are none. */
export function findMistakes(name: ExecutionObject, value: unknown): readonly string[] {
  const validate = validators.get(name);
  if (validate === undefined) throw new RangeError(`no schema ${name}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${name}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
