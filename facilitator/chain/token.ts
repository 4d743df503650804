import * as Hash from "ox/Hash";
import { encodeAddress, type Hex } from "#x402/hex.ts";

/** Call data and events of an EIP-3009 token. */

const hashText = (text: string): Hex => Hash.keccak256(Buffer.from(text), { as: "Hex" });
const selector = (signature: string): Hex => hashText(signature).slice(0, 10) as Hex;

const balanceOf = selector("balanceOf(address)");
const authorizationState = selector("authorizationState(address,bytes32)");

/** Topic of `Transfer(address indexed from, address indexed to, uint256 value)` (ERC-20). */
export const transferTopic = hashText("Transfer(address,address,uint256)");

/** Topic of `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` (EIP-3009). */
export const authorizationUsedTopic = hashText("AuthorizationUsed(address,bytes32)");

/** Requests the domain separator of the token's EIP-712 domain; most EIP-3009 tokens have the method, the EIP requires it. */
export const domainSeparatorCall: Hex = selector("DOMAIN_SEPARATOR()");

/** Requests the domain itself (EIP-5267), which newer tokens have. */
export const domainCall: Hex = selector("eip712Domain()");

export const nameCall: Hex = selector("name()");
export const versionCall: Hex = selector("version()");
export const decimalsCall: Hex = selector("decimals()");

/** Asks what an account holds. */
export function encodeBalanceOfCall(account: Hex): Hex {
  return `${balanceOf}${encodeAddress(account)}`;
}

/** Encodes the call that returns whether an authorization was used or cancelled. */
export function encodeAuthorizationState(authorizer: Hex, nonce: Hex): Hex {
  return `${authorizationState}${encodeAddress(authorizer)}${nonce.slice(2)}`;
}

/** Encodes an address as an event's indexed topic. */
export function encodeAddressTopic(address: Hex): Hex {
  return `0x${encodeAddress(address)}`;
}
