import type { Hex } from "./hex.ts";
import { reason, type Refusal } from "./reason.ts";
import { isSignedBy, parseSignature, signatureWords } from "./signature.ts";
import { authorizationDigest, authorizationWords, type Authorization } from "./typed-data.ts";

/** A token that payments may be made in, with its EIP-712 domain separator. */
export type AcceptedAsset = Readonly<{ address: Hex; name: string; version: string; separator: Hex }>;

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

/** An authorization with what is said to be its signature, and the terms that it was signed for. */
type Signed = Readonly<{ authorization: Authorization; signature: string; payTo: Hex; amount: bigint }>;

/**
 * The payment that a signed authorization of a token is, whatever scheme it was sent by, or why it is none. Asks nobody: an invalid payment is
 * refused for the price of one signature recovery.
 */
export function signedPayment(
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
  const words = authorizationWords(authorization);
  const digest = authorizationDigest(asset.separator, words);
  const id: Hex = `0x${Buffer.from(digest).toString("hex")}`;
  const callData: Hex = `${transferSelector}${words}${signatureWords(signature)}`;
  if (!isSigned({ id, callData }, () => isSignedBy(payer, digest, signature))) {
    const message = `the authorization was not signed by ${payer}, or not for ${asset.name} version ${asset.version} at ${asset.address} on this chain.`;
    return { reason: reason.signature, message };
  }
  return { id, asset: asset.address, payer, payTo, amount, authorization, callData };
}
