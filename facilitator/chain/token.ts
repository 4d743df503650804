import * as Hash from "ox/Hash";
import { encodeAddress, type Hex } from "#x402/hex.ts";

/** Call data and event topics of an EIP-3009 token. */

const hashText = (text: string): Hex => Hash.keccak256(Buffer.from(text), { as: "Hex" });
const selector = (signature: string): Hex => hashText(signature).slice(0, 10) as Hex;

const balanceOf = selector("balanceOf(address)");
const authorizationState = selector("authorizationState(address,bytes32)");

/** Topic of `Transfer(address indexed from, address indexed to, uint256 value)` (ERC-20). */
export const transferTopic = hashText("Transfer(address,address,uint256)");

/** Topic of `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` (EIP-3009). */
export const authorizationUsedTopic = hashText("AuthorizationUsed(address,bytes32)");

/** Call data that requests the token's EIP-712 domain separator; most EIP-3009 tokens have the method, and the EIP requires it. */
export const domainSeparatorCall: Hex = selector("DOMAIN_SEPARATOR()");

/** Call data that requests the domain itself (EIP-5267), which newer tokens support. */
export const domainCall: Hex = selector("eip712Domain()");

export const labelCall: Hex = selector("name()");
export const versionCall: Hex = selector("version()");
export const decimalsCall: Hex = selector("decimals()");

/** Encodes the call that returns an account's balance. */
export function encodeBalanceOfCall(account: Hex): Hex {
  return `${balanceOf}${encodeAddress(account)}`;
}

/** Encodes the call that returns whether an authorization is used or cancelled. */
export function encodeAuthorizationState(authorizer: Hex, nonce: Hex): Hex {
  return `${authorizationState}${encodeAddress(authorizer)}${nonce.slice(2)}`;
}

/** Encodes an address as an indexed event topic. */
export function encodeAddressTopic(address: Hex): Hex {
  return `0x${encodeAddress(address)}`;
}
