import { encodeAddress, encodeBytes, encodeInteger, type Hex } from "#x402/hex.ts";
import { computeSelector, hashText } from "#x402/typed-data.ts";

/** Call data and event topics of an EIP-3009 token. */

const topic = (event: string): Hex => `0x${hashText(event)}`;

const balanceOf = computeSelector("balanceOf(address)");
const authorizationState = computeSelector("authorizationState(address,bytes32)");
const allowance = computeSelector("allowance(address,address)");
const nonceBitmap = computeSelector("nonceBitmap(address,uint256)");
const isValidSignature = computeSelector("isValidSignature(bytes32,bytes)");

/** Topic of `Transfer(address indexed from, address indexed to, uint256 value)` (ERC-20). */
export const transferTopic = topic("Transfer(address,address,uint256)");

/** Topic of `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` (EIP-3009). */
export const authorizationUsedTopic = topic("AuthorizationUsed(address,bytes32)");

/** Topic of `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)` (EIP-3009). */
export const authorizationCanceledTopic = topic("AuthorizationCanceled(address,bytes32)");

/** Topic of `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)` (Permit2, SignatureTransfer). */
export const nonceInvalidationTopic = topic("UnorderedNonceInvalidation(address,uint256,uint256)");

/** Call data that requests the token's EIP-712 domain separator; most EIP-3009 tokens have the method, and the EIP requires it. */
export const domainSeparatorCall: Hex = computeSelector("DOMAIN_SEPARATOR()");

/** Call data that requests the domain itself (EIP-5267), which newer tokens support. */
export const domainCall: Hex = computeSelector("eip712Domain()");

export const labelCall: Hex = computeSelector("name()");
export const versionCall: Hex = computeSelector("version()");
export const decimalsCall: Hex = computeSelector("decimals()");

/** Encodes the call that returns an account's balance. */
export function encodeBalanceOfCall(account: Hex): Hex {
  return `${balanceOf}${encodeAddress(account)}`;
}

/** Encodes the call that returns whether an authorization is used or cancelled. */
export function encodeAuthorizationState(authorizer: Hex, nonce: Hex): Hex {
  return `${authorizationState}${encodeAddress(authorizer)}${nonce.slice(2)}`;
}

/** Encodes the call that returns how much a spender may move of an account's tokens (ERC-20). */
export function encodeAllowanceCall(account: Hex, spender: Hex): Hex {
  return `${allowance}${encodeAddress(account)}${encodeAddress(spender)}`;
}

/** Encodes the call that returns 256 of an account's used nonces (Permit2, SignatureTransfer). */
export function encodeNonceBitmapCall(account: Hex, position: bigint): Hex {
  return `${nonceBitmap}${encodeAddress(account)}${encodeInteger(position)}`;
}

/** Encodes the call that asks a wallet whether a signature of a hash is valid (ERC-1271). */
export function encodeSignatureCheck(hash: Hex, signature: Hex): Hex {
  return `${isValidSignature}${hash.slice(2)}${encodeInteger(0x40n)}${encodeBytes(signature)}`;
}

/** Returns whether a wallet's response means that the signature is valid (ERC-1271's magic value). */
export function confirmsSignature(response: unknown): boolean {
  return typeof response === "string" && response.slice(0, 10) === isValidSignature && response.length >= 66;
}
