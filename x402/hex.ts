/** 0x-prefixed hexadecimal. */
export type Hex = `0x${string}`;

/** One 32-byte word of the ABI: 64 lower-case hexadecimal digits, no prefix. */
export type Word = string;

/** An unsigned integer as a word. */
export function encodeInteger(value: bigint): Word {
  return value.toString(16).padStart(64, "0");
}

/** An address as a word. */
export function encodeAddress(address: Hex): Word {
  return address.slice(2).toLowerCase().padStart(64, "0");
}

/** A quantity of JSON-RPC: no leading zeros. */
export function formatQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}
