import { encodeAddress, encodeBytes, encodeInteger, type Hex } from "#x402/hex.ts";
import { computeSelector, hashText } from "#x402/typed-data.ts";

const topic = (event: string): Hex => `0x${hashText(event)}`;

const balanceOf = computeSelector("balanceOf(address)");
const authorizationState = computeSelector("authorizationState(address,bytes32)");
const allowance = computeSelector("allowance(address,address)");
const nonceBitmap = computeSelector("nonceBitmap(address,uint256)");
const isValidSignature = computeSelector("isValidSignature(bytes32,bytes)");

export const transferTopic = topic("Transfer(address,address,uint256)");

export const authorizationUsedTopic = topic("AuthorizationUsed(address,bytes32)");

export const authorizationCanceledTopic = topic("AuthorizationCanceled(address,bytes32)");

export const nonceInvalidationTopic = topic("UnorderedNonceInvalidation(address,uint256,uint256)");

/** Call data that requests the token's EIP-712 domain separator; most EIP-3009 tokens have the method, and the EIP requires it. */
export const domainSeparatorCall: Hex = computeSelector("DOMAIN_SEPARATOR()");

/** Call data that requests the domain itself (EIP-5267), which newer tokens support. */
export const domainCall: Hex = computeSelector("eip712Domain()");

export const labelCall: Hex = computeSelector("name()");
export const versionCall: Hex = computeSelector("version()");
export const decimalsCall: Hex = computeSelector("decimals()");

export function encodeBalanceOfCall(account: Hex): Hex {
  return `${balanceOf}${encodeAddress(account)}`;
}

export function encodeAuthorizationState(authorizer: Hex, nonce: Hex): Hex {
  return `${authorizationState}${encodeAddress(authorizer)}${nonce.slice(2)}`;
}

export function encodeAllowanceCall(account: Hex, spender: Hex): Hex {
  return `${allowance}${encodeAddress(account)}${encodeAddress(spender)}`;
}

export function encodeNonceBitmapCall(account: Hex, position: bigint): Hex {
  return `${nonceBitmap}${encodeAddress(account)}${encodeInteger(position)}`;
}

/** Encodes the call that asks a wallet whether a signature of a hash is valid (ERC-1271). */
export function encodeSignatureCheck(hash: Hex, signature: Hex): Hex {
  return `${isValidSignature}${hash.slice(2)}${encodeInteger(0x40n)}${encodeBytes(signature)}`;
}

export function confirmsSignature(response: unknown): boolean {
  return typeof response === "string" && response.slice(0, 10) === isValidSignature && response.length >= 66;
}
