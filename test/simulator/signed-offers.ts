import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { z } from "zod";
import { encodeSignatureCheck } from "#facilitator/chain/token.ts";
import type { Payment } from "#resource-server/sale/payment-header.ts";
import type { Hex } from "#x402/hex.ts";
import { approvesPermit2 } from "#x402/permit2.ts";
import type { ContractCall } from "#x402/wallet-signature.ts";
import { contractWallet, type methods } from "./wallets.ts";

/** Defects of payments that must be rejected. */
export const flaws = ["payee", "signature", "value"] as const;

export type Signing = Readonly<{
  wallet: string;
  chain: number;
  method: (typeof methods)[number] | "channel";
  /** Signer that an `upto` payment specifies. */
  facilitator: number;
  /** Payments with the same number have the same nonce. */
  number: number;
  validSeconds: number;
  /** Nonce of the signed approval for Permit2 (EIP-2612), if there is one. */
  approval?: number | undefined;
  /** Payment-identifier. */
  identifier?: string | undefined;
  flaw?: (typeof flaws)[number] | undefined;
}>;

/** Signed payment as its buyer sends it, with what identifies it on the chain. */
export type SignedOffer = Readonly<{
  /** Name of the payment, which all of its copies share. */
  name: string;
  signing: Signing;
  payment: Payment;
  requirements: PaymentRequirements;
  /** Address without prefix, in lower case. */
  from: string;
  to: Hex;
  value: bigint;
  nonce: Hex;
  validBefore: number;
  /** Channel through which it pays, and what that was charged before. */
  channel?: Readonly<{ id: Hex; before: bigint }>;
}>;

/** Signed payments by the signed data. */
const signed = new Map<string, SignedOffer>();
const byCall = new Map<string, SignedOffer>();
const bySignature = new Map<unknown, SignedOffer>();
/** Signed payments by the call that asks a contract wallet to confirm the signature. */
const byCheck = new Map<Hex, SignedOffer>();
const offersMax = 5_000;

/** Forgets payments that earlier runs signed, once there are too many. */
export function forgetOffers(): void {
  if (signed.size > offersMax) for (const known of [signed, byCall, bySignature, byCheck]) known.clear();
}

/** Signs a payment, or returns the same one signed before, even by an earlier run. */
export function signOnce(signing: Signing, sign: (signing: Signing) => SignedOffer): SignedOffer {
  const name = JSON.stringify(signing);
  const known = signed.get(name) ?? sign(signing);
  signed.set(name, known);
  return known;
}

/** Makes a signature, and the call that contains it, known to nodes and contracts. */
export function recordOffer(
  offer: SignedOffer,
  { digest, signature, call }: Readonly<{ digest: Uint8Array; signature: Hex; call?: ContractCall }>,
): void {
  const check = encodeSignatureCheck(`0x${Buffer.from(digest).toString("hex")}`, signature);
  if (offer.signing.wallet === contractWallet.name) byCheck.set(check, offer);
  if (call === undefined) return;
  byCall.set(`${call.to.toLowerCase()} ${call.data}`, offer);
  bySignature.set(signature, offer);
}

const depositSignature = z
  .object({
    deposit: z.object({ authorization: z.object({ erc3009Authorization: z.object({ signature: z.string() }) }) }),
  })
  .transform(({ deposit }) => deposit.authorization.erc3009Authorization.signature);

/** Finds a signed payment as sent to a service. */
export const findSent = ({ payload }: Pick<PaymentPayload, "payload">): SignedOffer | undefined =>
  bySignature.get(payload["signature"] ?? depositSignature.safeParse(payload).data);

/** Finds the signed payment whose signature a call asks a wallet to confirm. */
export const findChecked = (data: Hex): SignedOffer | undefined => byCheck.get(data);

/** Call that a signed payment allows, and what it moves. */
export type PaymentCall = Readonly<{ offer: SignedOffer; amount: bigint }>;

/** Finds the signed payment that a call executes. */
export function findCalled({ to: contract, data }: ContractCall): PaymentCall | undefined {
  const to = contract.toLowerCase();
  const exact = byCall.get(`${to} ${data}`);
  // Calls of `upto` are found by the one with amount 0, which the proxy rejects.
  if (exact !== undefined) return { offer: exact, amount: exact.signing.method === "upto" ? 0n : exact.value };
  // In a call of the proxy of `upto`, the amount follows the approval, of five words, and the permit, of four.
  const start = 10 + 64 * (approvesPermit2(data) ? 9 : 4);
  const offer = byCall.get(`${to} ${data.slice(0, start)}${"0".repeat(64)}${data.slice(start + 64)}`);
  return offer && { offer, amount: BigInt(`0x${data.slice(start, start + 64)}`) };
}
