import * as Hash from "ox/Hash";
import * as Hex from "ox/Hex";
import * as Rlp from "ox/Rlp";
import type { Block, Receipt } from "./block-reader.ts";

/**
 * Encodes a block's header in RLP (Yellow Paper, 4.4; EIP-1559, EIP-4895, EIP-4844 and EIP-4788 for the trailing fields).
 *
 * @throws {RangeError} when the encoding's hash differs from the block's, which means that the header has an unknown field.
 */
export function encodeHeader(block: Block): Hex.Hex {
  const encoded = Rlp.fromHex(listHeaderFields(block));
  if (Hash.keccak256(encoded) !== block.hash)
    throw new RangeError(`header of block ${block.number} has unknown fields`);
  return encoded;
}

/** Encodes a block: header, transactions, no uncles and no withdrawals (EIP-4895). */
export function encodeBlock(block: Block, transactions: readonly Hex.Hex[]): Hex.Hex {
  encodeHeader(block);
  // In a block, a typed transaction is a byte string (EIP-2718), a legacy one a list.
  const items = transactions.map((raw) => (isList(raw) ? Rlp.toHex(raw) : raw));
  return Rlp.fromHex([
    listHeaderFields(block),
    items,
    [],
    ...(block.withdrawalsRoot === undefined ? [] : [[]]),
  ] as Nested);
}

type Nested = Parameters<typeof Rlp.fromHex>[0];

/** Encodes a receipt the way it is encoded for its block's `receiptsRoot`: type and RLP of status, gas, bloom and logs (EIP-658, EIP-2718). */
export function encodeReceipt(receipt: Receipt): Hex.Hex {
  const logs = receipt.logs.map(({ address, topics, data }) => [address, [...topics], data] as const);
  const encoded = Rlp.fromHex([
    encodeQuantity(receipt.status),
    encodeQuantity(receipt.cumulativeGasUsed),
    receipt.logsBloom,
    logs,
  ] as Nested);
  return receipt.type === "0x0" ? encoded : Hex.concat(Hex.padLeft(receipt.type, 1), encoded);
}

function listHeaderFields(block: Block): Hex.Hex[] {
  const optional = [
    block.withdrawalsRoot,
    block.blobGasUsed === undefined ? undefined : encodeQuantity(block.blobGasUsed),
    block.excessBlobGas === undefined ? undefined : encodeQuantity(block.excessBlobGas),
    block.parentBeaconBlockRoot,
  ];
  return [
    [block.parentHash, block.sha3Uncles, block.miner, block.stateRoot, block.transactionsRoot, block.receiptsRoot],
    [block.logsBloom, encodeQuantity(block.difficulty), encodeQuantity(block.number), encodeQuantity(block.gasLimit)],
    [encodeQuantity(block.gasUsed), encodeQuantity(block.timestamp), block.extraData, block.mixHash, block.nonce],
    [encodeQuantity(block.baseFeePerGas), ...optional.filter((field) => field !== undefined)],
  ].flat();
}

/** Encodes a quantity for RLP: big endian without leading zeros, empty for zero. */
function encodeQuantity(quantity: Hex.Hex): Hex.Hex {
  const value = BigInt(quantity);
  if (value === 0n) return "0x";
  const digits = value.toString(16);
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`;
}

function isList(raw: Hex.Hex): boolean {
  return Number.parseInt(raw.slice(2, 4), 16) >= 0xc0;
}
