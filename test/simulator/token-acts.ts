import { authorizationCanceledTopic, nonceInvalidationTopic } from "#facilitator/chain/token.ts";
import { encodeAddressTopic, encodeInteger, type Hex } from "#x402/hex.ts";
import { permit2Address } from "#x402/permit2.ts";
import type { SignedOffer } from "./signed-offers.ts";
import { digitsOf, markNonce, move, nameNonce, type Act } from "./virtual-contracts.ts";

/** Revokes the Permit2 approval. */
export function revoke({ from }: SignedOffer): Act {
  return (state) => {
    state.allowances = new Map(state.allowances).set(from, 0n);
    return [];
  };
}

/** Cancels a payment's nonce. */
export function cancel(offer: SignedOffer): Act {
  return (state) => {
    if (state.used.has(nameNonce(offer))) return [];
    state.used = new Set(state.used).add(nameNonce(offer));
    if (offer.signing.method === "eip3009") return [markNonce(authorizationCanceledTopic, offer.from, offer.nonce)];
    const nonce = BigInt(offer.nonce);
    const topics = [nonceInvalidationTopic, encodeAddressTopic(`0x${offer.from}`)];
    const data: Hex = `0x${encodeInteger(nonce >> 8n)}${encodeInteger(1n << (nonce & 0xffn))}`;
    return [{ address: permit2Address, topics, data }];
  };
}

/** Makes a contract wallet reject all signatures from now on, or confirm its owner's again. */
export function toggleWallet({ address }: Readonly<{ address: Hex }>): Act {
  const account = digitsOf(address);
  return (state) => {
    const rejecting = new Set(state.rejecting);
    if (!rejecting.delete(account)) rejecting.add(account);
    state.rejecting = rejecting;
    return [];
  };
}

/** Makes the token's transfers succeed without effect from now on, or take effect again. */
export const silence =
  (isSilent: boolean): Act =>
  (state) => {
    state.isSilent = isSilent;
    return [];
  };

/** Moves all tokens of a buyer away. */
export function drain({ from }: SignedOffer): Act {
  return (state) => [move(from, "dead".padStart(40, "0"), state.balances.get(from) ?? 0n, state)];
}
