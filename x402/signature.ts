import secp256k1 from "secp256k1";
import { keccak256 } from "viem/utils";
import { addressWord, integerWord, type Hex, type Word } from "./hex.ts";

/** An ECDSA signature over secp256k1, parsed. */
export type Signature = Readonly<{
  /** `r` and `s`, 64 bytes. */
  compact: Uint8Array;
  yParity: 0 | 1;
}>;

/** Half of the group's order: signatures with a larger `s` are second forms of the same one, which tokens refuse (EIP-2). */
const halfOrder = Buffer.from("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0", "hex");

const recoveryIds: Readonly<Record<number, 0 | 1>> = { 0: 0, 1: 1, 27: 0, 28: 1 };

/** Reads a 65-byte signature; `v` may be 27 or 28, or 0 or 1 as some wallets have it. `undefined` for anything else. */
export function parseSignature(text: string): Signature | undefined {
  if (text.length !== 132 || !/^0x[0-9a-fA-F]{130}$/.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(2), "hex");
  const yParity = recoveryIds[bytes[64] ?? -1];
  const s = bytes.subarray(32, 64);
  if (yParity === undefined || Buffer.compare(s, halfOrder) > 0) return undefined;
  return { compact: bytes.subarray(0, 64), yParity };
}

/** Whether the account signed the digest. */
export function isSignedBy(account: Hex, digest: Uint8Array, { compact, yParity }: Signature): boolean {
  let key: Uint8Array;
  try {
    key = secp256k1.ecdsaRecover(compact, yParity, digest, false);
  } catch {
    // The library throws where no key fits (r or s zero or not below the order): then nobody signed.
    return false;
  }
  return keccak256(key.subarray(1)).slice(26) === addressWord(account).slice(24);
}

/** The arguments `v, r, s` of a token's method as ABI words. */
export function signatureWords({ compact, yParity }: Signature): Word {
  return integerWord(BigInt(27 + yParity)) + Buffer.from(compact).toString("hex");
}
