import type { Authorization } from "#x402/exact.ts";
import type { Hex, Word } from "#x402/hex.ts";
import type { Transfer } from "./transfer.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import { isSignedBy, parseSignature, signatureWords } from "#x402/signature.ts";
import { assetOf, refuseTerms, type AcceptedTerms } from "./terms.ts";
import { authorizationDigest, authorizationWords } from "#x402/typed-data.ts";

/** A payment whose terms are accepted and that its payer really signed. */
export type SignedPayment = Readonly<{
  /**
   * The EIP-712 digest of the authorization: one name for this payment on every chain, token and facilitator, whatever form its
   * signature was sent in.
   */
  id: Hex;
  asset: Hex;
  payer: Hex;
  payTo: Hex;
  amount: bigint;
  authorization: Authorization;
  /** Call data of the token's `transferWithAuthorization`, in the `(v, r, s)` form that every EIP-3009 token has. */
  callData: Hex;
}>;

/** Whether the payer signed; `recover` finds out, at a cost, where that is not known. */
export type SignatureCheck = (payment: Pick<SignedPayment, "id" | "callData">, recover: () => boolean) => boolean;

/** Selector of `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)`. */
const transferSelector = "0xe3ee160e";

/**
 * Judges everything about a payment that neither the time nor the chain decides. It costs no request, so that an invalid payment
 * is refused for the price of one signature recovery.
 */
export function signedPayment(
  payment: Transfer,
  terms: AcceptedTerms,
  { isSigned }: Readonly<{ isSigned: SignatureCheck }>,
): SignedPayment | Refusal {
  const refusal = refuseTerms(payment, terms);
  if (refusal !== undefined) return refusal;
  const asset = assetOf(payment, terms);
  const signature = parseSignature(payment.signature);
  if (asset === undefined || signature === undefined) {
    const message =
      "the signature is not one of 65 bytes (r, s with s in the lower half, v of 27 or 28); contract wallets are not served here.";
    return { reason: reason.signature, message };
  }
  const words: Word = authorizationWords(payment.authorization);
  const digest = authorizationDigest(asset.separator, words);
  const id: Hex = `0x${Buffer.from(digest).toString("hex")}`;
  const callData: Hex = `${transferSelector}${words}${signatureWords(signature)}`;
  if (!isSigned({ id, callData }, () => isSignedBy(payment.authorization.from, digest, signature))) {
    const message = `the authorization was not signed by ${payment.authorization.from}, or not for ${asset.name} version ${asset.version} at ${asset.address} on this chain.`;
    return { reason: reason.signature, message };
  }
  return {
    id,
    asset: asset.address,
    payer: payment.authorization.from,
    payTo: payment.requirements.payTo,
    amount: payment.requirements.amount,
    authorization: payment.authorization,
    callData,
  };
}

/** Whether judging ended in a refusal. */
export function isRefusal(judged: SignedPayment | Refusal): judged is Refusal {
  return "reason" in judged;
}
