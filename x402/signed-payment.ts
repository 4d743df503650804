import secp256k1 from "secp256k1";
import * as Hash from "ox/Hash";
import { type Hex, encodeAddress, encodeInteger, type Word } from "./hex.ts";
import { reason, type Refusal } from "./reason.ts";
import { computeAuthorizationDigest, encodeAuthorization, type Authorization } from "./typed-data.ts";

/** Accepted payment token, with its EIP-712 domain separator. */
export type AcceptedAsset = Readonly<{ address: Hex; name: string; version: string; separator: Hex }>;

/** Payment with accepted terms and a verified payer signature. */
export type SignedPayment = Readonly<{
  /**
   * EIP-712 digest of the authorization: a unique identifier of this payment across chains, tokens and facilitators, whatever format its
   * signature was sent in.
   */
  id: Hex;
  asset: Hex;
  payer: Hex;
  payTo: Hex;
  amount: bigint;
  authorization: Authorization;
  /** Call data of the token's `transferWithAuthorization`, in the `(v, r, s)` form supported by every EIP-3009 token. */
  callData: Hex;
}>;

/** Checks whether the payer signed; `recover` determines it, at a cost, if it is unknown. */
export type SignatureCheck = (payment: Pick<SignedPayment, "id" | "callData">, recover: () => boolean) => boolean;

/** Selector of `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)`. */
const transferSelector = "0xe3ee160e";

/** Authorization with its alleged signature, and its signed terms. */
type Signed = Readonly<{ authorization: Authorization; signature: string; payTo: Hex; amount: bigint }>;

/**
 * Converts a signed authorization of a token to a payment, whatever its scheme, or returns why it is invalid. Makes no queries: rejecting
 * an invalid payment costs one signature recovery.
 */
export function toSignedPayment(
  { authorization, signature: text, payTo, amount }: Signed,
  { asset, isSigned }: Readonly<{ asset: AcceptedAsset; isSigned: SignatureCheck }>,
): SignedPayment | Refusal {
  const payer = authorization.from;
  const signature = parseSignature(text);
  if (signature === undefined) {
    const message =
      "the signature is not one of 65 bytes (r, s with s in the lower half, v of 27 or 28); contract wallets are not served here.";
    return { reason: reason.signature, message };
  }
  const words = encodeAuthorization(authorization);
  const digest = computeAuthorizationDigest(asset.separator, words);
  const id: Hex = `0x${Buffer.from(digest).toString("hex")}`;
  const callData: Hex = `${transferSelector}${words}${encodeSignature(signature)}`;
  if (!isSigned({ id, callData }, () => isSignedBy(payer, digest, signature))) {
    const message = `the authorization was not signed by ${payer}, or not for ${asset.name} version ${asset.version} at ${asset.address} on this chain.`;
    return { reason: reason.signature, message };
  }
  return { id, asset: asset.address, payer, payTo, amount, authorization, callData };
}

/** Parsed ECDSA signature over secp256k1. */
export type Signature = Readonly<{
  /** `r` and `s`, 64 bytes. */
  compact: Uint8Array;
  yParity: 0 | 1;
}>;

/** Half of the group's order: signatures with a larger `s` are alternative forms of the same signature, which tokens reject (EIP-2). */
const halfOrder = Buffer.from("7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0", "hex");

const recoveryIds: Readonly<Record<number, 0 | 1>> = { 0: 0, 1: 1, 27: 0, 28: 1 };

/** Parses a 65-byte signature; `v` may be 27 or 28, or 0 or 1 as in some wallets. Returns `undefined` for anything else. */
export function parseSignature(text: string): Signature | undefined {
  if (text.length !== 132 || !/^0x[0-9a-fA-F]{130}$/.test(text)) return undefined;
  const bytes = Buffer.from(text.slice(2), "hex");
  const yParity = recoveryIds[bytes[64] ?? -1];
  const s = bytes.subarray(32, 64);
  if (yParity === undefined || Buffer.compare(s, halfOrder) > 0) return undefined;
  return { compact: bytes.subarray(0, 64), yParity };
}

/** Returns whether the account signed the digest. */
export function isSignedBy(account: Hex, digest: Uint8Array, { compact, yParity }: Signature): boolean {
  let key: Uint8Array;
  try {
    key = secp256k1.ecdsaRecover(compact, yParity, digest, false);
  } catch {
    // The library throws if no key fits (r or s zero or not below the order): the signature is invalid.
    return false;
  }
  return Hash.keccak256(key.subarray(1), { as: "Hex" }).slice(26) === encodeAddress(account).slice(24);
}

/** Encodes the arguments `v, r, s` of a token's method as ABI words. */
export function encodeSignature({ compact, yParity }: Signature): Word {
  return encodeInteger(BigInt(27 + yParity)) + Buffer.from(compact).toString("hex");
}
