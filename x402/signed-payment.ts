import secp256k1 from "secp256k1";
import { type Hex, encodeAddress, encodeBytes, encodeInteger, type Word } from "./hex.ts";
import type { KnownContracts } from "./contracts.ts";
import { paths, signatureLengthMax, signatureSentence, MalformedPaymentError } from "./fields.ts";
import { reason, type Rejection } from "./reason.ts";
import { computeAuthorizationDigest, encodeAuthorization, type Authorization, keccak256 } from "./typed-data.ts";
import { callAfterCreation, multicall3Address, parseWalletSignature, type ContractCall } from "./wallet-signature.ts";

export type AcceptedAsset = Readonly<{ address: Hex; name: string; version: string; separator: Hex }>;

/** Payment with accepted terms and a payer signature: one call that moves its tokens, which the chain accepts once. */
export type SignedPayment = Readonly<{
  /** EIP-712 digest of what the payer signed: identifies the payment, whatever format its signature has. */
  id: Hex;
  asset: Hex;
  payer: Hex;
  payTo: Hex;
  /** Amount to move; for a payment with a maximum, the amount used. */
  amount: bigint;
  authorization: Pick<Authorization, "validAfter" | "validBefore" | "nonce">;
  /** Contract to call: the token (EIP-3009), a proxy of Permit2, or Multicall3, which first creates the payer's wallet. */
  contract: Hex;
  /** Call data, with the signature in the canonical form that every such contract supports. */
  callData: Hex;
  /** Signature that the payer's contract must confirm (ERC-1271); undefined if its key signed. */
  walletSignature?: Hex | undefined;
  /** Why its token is not settled here; applies only to payments not yet recorded. */
  unserved?: Rejection | undefined;
  /**
   * Deposits of the channels involved: if a settled one is recorded for each, the token and payee may have been removed from the settings.
   */
  deposits?: readonly DepositKey[];
  /** Whether it moves everything left in its channels or owed to their seller, so that no minimum amount applies. */
  isRemainder?: boolean;
  /** Permitted maximum of a payment that may be settled for less; undefined if it is settled in full. */
  max?: bigint | undefined;
  /** Whether it makes no new payment to a seller, so that any caller that repeats it gets its outcome. */
  isRelayed?: boolean;
}>;

/** Selects deposits into a seller's channels by a prefix of their call data; `payer` is present if it selects one channel. */
export type DepositKey = Readonly<{ asset: Hex; payTo: Hex; payer?: Hex; callStart: string }>;

/** Checks whether the payer's key signed; if this is unknown, calls `recover`, which is slow. */
export type SignatureCheck = (payment: Pick<SignedPayment, "id" | "callData">, recover: () => boolean) => boolean;

/** The signature check, and the chain's canonical contracts and accepted wallet factories, in lower case. */
export type SigningContext = Readonly<{ isSigned: SignatureCheck; contracts: KnownContracts }>;

/** Selectors of `transferWithAuthorization` with a signature as `(v, r, s)`, which every EIP-3009 token supports, and as `bytes`. */
const transferSelector = "0xe3ee160e";
const transferBytesSelector = "0xcf092995";

type SignedTransfer = Readonly<{ authorization: Authorization; signature: string; payTo: Hex; amount: bigint }>;

/** Converts an authorization to a payment, or returns why it is invalid, at the cost of one signature recovery. */
export function toSignedPayment(
  { authorization, signature, payTo, amount }: SignedTransfer,
  { asset, ...context }: SigningContext & Readonly<{ asset: AcceptedAsset }>,
): SignedPayment | Rejection {
  const words = encodeAuthorization(authorization);
  const digest = computeAuthorizationDigest(asset.separator, words);
  const encodeCall = (signed: Hex | Signature): ContractCall => ({
    to: asset.address,
    data:
      typeof signed === "string"
        ? `${transferBytesSelector}${words}${encodeInteger(0xe0n)}${encodeBytes(signed)}`
        : `${transferSelector}${words}${encodeSignature(signed)}`,
  });
  const call = signCall({ payer: authorization.from, digest, signature, encodeCall }, context);
  if ("reason" in call) return call;
  return { ...call, asset: asset.address, payer: authorization.from, payTo, amount, authorization };
}

/** The hash to sign, its alleged signature, and the calls that contain a key's or a wallet's signature. */
type SignedCall = Readonly<{
  payer: Hex;
  digest: Uint8Array;
  signature: string;
  encodeCall: (signature: Hex | Signature) => ContractCall;
}>;

/**
 * Builds the call of a payment, or returns why its signature is invalid.
 *
 * @throws {MalformedPaymentError} when the signature is too long.
 */
export function signCall(
  { payer, digest, signature: text, encodeCall }: SignedCall,
  { isSigned, contracts }: SigningContext,
): Pick<SignedPayment, "id" | "contract" | "callData" | "walletSignature"> | Rejection {
  if (text.length > signatureLengthMax)
    throw new MalformedPaymentError(`${paths.payment}.payload.signature`, signatureSentence);
  const id: Hex = `0x${Buffer.from(digest).toString("hex")}`;
  const signature = parseSignature(text);
  if (signature !== undefined) {
    const { to: contract, data: callData } = encodeCall(signature);
    if (isSigned({ id, callData }, () => isSignedBy(payer, digest, signature))) return { id, contract, callData };
  }
  const wallet = parseWalletSignature(text);
  if (wallet === undefined)
    return {
      reason: reason.signature,
      message: "the signature is not 0x-prefixed hexadecimal with two digits per byte.",
    };
  if (wallet.creation !== undefined && !contracts.has(multicall3Address.toLowerCase())) {
    const message = `the payer's wallet must be created first (ERC-6492), which needs Multicall3 at ${multicall3Address}; it is not deployed on this chain.`;
    return { reason: reason.signature, message };
  }
  if (wallet.creation !== undefined && !contracts.has(wallet.creation.to.toLowerCase())) {
    const message = `the payer's wallet must be created first (ERC-6492), but its factory ${wallet.creation.to} is not in chain.walletFactories.`;
    return { reason: reason.signature, message };
  }
  const { to: contract, data: callData } = callAfterCreation(encodeCall(wallet.signature), wallet.creation);
  return { id, contract, callData, walletSignature: wallet.signature };
}

export type Signature = Readonly<{
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

export function isSignedBy(account: Hex, digest: Uint8Array, { compact, yParity }: Signature): boolean {
  let key: Uint8Array;
  try {
    key = secp256k1.ecdsaRecover(compact, yParity, digest, false);
  } catch {
    // The library throws if no key can have signed (r or s is zero or not below the order): the signature is invalid.
    return false;
  }
  return keccak256(key.subarray(1)).toString("hex", 12) === encodeAddress(account).slice(24);
}

export function encodeSignature({ compact, yParity }: Signature): Word {
  return encodeInteger(BigInt(27 + yParity)) + Buffer.from(compact).toString("hex");
}

export function formatSignature({ compact, yParity }: Signature): Hex {
  return `0x${Buffer.from(compact).toString("hex")}${(27 + yParity).toString(16)}`;
}

/** Returns a signature from {@link signCall} as bytes, for a contract that accepts signatures of keys and wallets in this form. */
export function toSignatureBytes(signature: Hex | Signature): Hex {
  return typeof signature === "string" ? signature : formatSignature(signature);
}
