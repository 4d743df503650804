import * as Hash from "ox/Hash";
import * as Hex from "ox/Hex";
import * as Rlp from "ox/Rlp";

/** Fields of a header in RLP (Yellow Paper, 4.4; EIP-1559, EIP-4895, EIP-4844 and EIP-4788), in order, by kind. */
const headerFields = [
  ..."parentHash sha3Uncles miner stateRoot transactionsRoot receiptsRoot logsBloom".split(" "),
  ..."difficulty:number number:number gasLimit:number gasUsed:number timestamp:number".split(" "),
  ..."extraData mixHash nonce baseFeePerGas:number withdrawalsRoot".split(" "),
  ..."blobGasUsed:number excessBlobGas:number parentBeaconBlockRoot".split(" "),
];

export type RawBlock = Readonly<{ number: Hex.Hex; hash: Hex.Hex; miner: Hex.Hex; [field: string]: unknown }>;

export type RawReceipt = Readonly<{
  type: Hex.Hex;
  status: Hex.Hex;
  cumulativeGasUsed: Hex.Hex;
  logsBloom: Hex.Hex;
  logs: readonly Readonly<{ address: Hex.Hex; topics: readonly Hex.Hex[]; data: Hex.Hex }>[];
}>;

type Nested = Parameters<typeof Rlp.fromHex>[0];

/**
 * Encodes a block's header in RLP.
 *
 * @throws {RangeError} when the encoding's hash differs from the block's, which means that the header has an unknown field.
 */
export function encodeHeader(block: RawBlock): Hex.Hex {
  const encoded = Rlp.fromHex(listHeaderFields(block));
  if (Hash.keccak256(encoded) !== block.hash)
    throw new RangeError(`header of block ${block.number} has unknown fields`);
  return encoded;
}

/** Encodes a block: header, transactions, no uncles and no withdrawals (EIP-4895). */
export function encodeBlock(block: RawBlock, transactions: readonly Hex.Hex[]): Hex.Hex {
  // In a block, a typed transaction is a byte string (EIP-2718), a legacy one a list.
  const items = transactions.map((raw) => (Number(raw.slice(0, 4)) >= 0xc0 ? Rlp.toHex(raw) : raw));
  return Rlp.fromHex([listHeaderFields(block), items, [], []] as Nested);
}

/** Encodes a receipt the way it is encoded for its block's `receiptsRoot`: type and RLP of status, gas, bloom and logs (EIP-658, EIP-2718). */
export function encodeReceipt({ type, status, cumulativeGasUsed, logsBloom, logs }: RawReceipt): Hex.Hex {
  const entries = logs.map(({ address, topics, data }) => [address, [...topics], data]);
  const fields = [encodeQuantity(status), encodeQuantity(cumulativeGasUsed), logsBloom, entries];
  const encoded = Rlp.fromHex(fields as Nested);
  return type === "0x0" ? encoded : Hex.concat(Hex.padLeft(type, 1), encoded);
}

function listHeaderFields(block: RawBlock): Hex.Hex[] {
  return headerFields.flatMap((field) => {
    const [name = "", kind] = field.split(":");
    const value = block[name] as Hex.Hex | undefined;
    if (value === undefined) return [];
    return kind === "number" ? encodeQuantity(value) : value;
  });
}

/** Encodes a quantity for RLP: big endian without leading zeros, empty for zero. */
function encodeQuantity(quantity: Hex.Hex): Hex.Hex {
  const digits = BigInt(quantity).toString(16);
  if (digits === "0") return "0x";
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}
