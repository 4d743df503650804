export type Hex = `0x${string}`;

/** 32-byte ABI word: 64 lowercase hexadecimal digits, no prefix. */
export type Word = string;

/** The zero address. As a channel's payer authorizer, it means that the payer signs the vouchers itself. */
export const zeroAddress: Hex = `0x${"0".repeat(40)}`;

/** Returns whether two hexadecimal numbers, e.g. addresses, are equal regardless of case. */
export function isSameHex(one: string, other: string | undefined): boolean {
  return one.toLowerCase() === other?.toLowerCase();
}

export function encodeInteger(value: bigint): Word {
  return value.toString(16).padStart(64, "0");
}

export function encodeAddress(address: Hex): Word {
  return address.slice(2).toLowerCase().padStart(64, "0");
}

export function encodeAddressTopic(address: Hex): Hex {
  return `0x${encodeAddress(address)}`;
}

/** Encodes `bytes` as the tail of ABI arguments: length and padded content. */
export function encodeBytes(bytes: Hex): Word {
  const digits = bytes.slice(2);
  return encodeInteger(BigInt(digits.length / 2)) + digits.padEnd(Math.ceil(digits.length / 64) * 64, "0");
}

/** Formats a JSON-RPC quantity: no leading zeros. */
export function formatQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}
