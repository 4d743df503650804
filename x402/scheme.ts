import type { PaymentPayload, PaymentRequirements, SchemeNetworkClient } from "@x402/core/types";
import type { Answered, SettleAnswer, VerifyAnswer } from "./answer.ts";
import type { Refusal } from "./reason.ts";
import type { AcceptedAsset, SignatureCheck, SignedPayment } from "./signed-payment.ts";

/** Permanent identity of a payment: the token takes a nonce of an account once. Everything but `network` is in lower case. */
export type PaymentKey = Readonly<{ network: string; asset: string; payer: string; nonce: string }>;

/** An account that pays, in the shape of viem and the x402 SDK; it signs typed data (EIP-712). */
export type PayingAccount = Readonly<{
  address: `0x${string}`;
  signTypedData: (message: {
    domain: Record<string, unknown>;
    types: Record<string, unknown>;
    primaryType: string;
    message: Record<string, unknown>;
  }) => Promise<`0x${string}`>;
}>;

/** Reader of an error: the client that sent a header, or the seller that sent a body. */
export type Audience = "client" | "seller";

/** The token that prices are charged in, on one network; `name` and `version` are those of its EIP-712 domain. */
export type ChargedToken = Readonly<{
  network: PaymentRequirements["network"];
  address: string;
  name: string;
  version: string;
}>;

/** Transfer that a payment authorizes, in text as on the wire; never with its signature. */
export type SignedAuthorization = Readonly<{
  from: string;
  to: string;
  /** Smallest units of the token. */
  value: string;
  /** Unix seconds. */
  validAfter: string;
  /** Unix seconds. */
  validBefore: string;
  /** 32 bytes, hexadecimal; the token takes each only once from one account. */
  nonce: string;
}>;

/**
 * A scheme of x402 version 2: all that client, seller and facilitator do by it. A new one is a file with such a value and a line in `schemes.ts`;
 * nothing else knows schemes apart.
 */
export type Scheme<Payment = unknown> = Readonly<{
  /** As offers and payments name it, e.g. `exact`. */
  name: string;
  /**
   * Reads the payload of a payment. Nothing of it is verified.
   *
   * @throws {MalformedPaymentError} with the path within the payload.
   */
  read(payload: Readonly<Record<string, unknown>>, audience: Audience): Payment;
  /** Names the payment in ledgers. Two payments with one key can't both be settled. */
  key(payment: Payment, accepted: Pick<PaymentRequirements, "network" | "asset">): PaymentKey;
  /** Hexadecimal SHA-256 that only a holder of the signed payment can compute. Ledgers store it, so it never changes for a payment. */
  digest(payment: Payment): string;
  /** Unix seconds from which on the payment can't be settled. */
  expiresAt(payment: Payment): number;
  /** Quotes a price in dollars as the amount and token of a seller's offer. */
  quote(price: string, token: ChargedToken): Promise<Pick<PaymentRequirements, "amount" | "asset" | "extra">>;
  /** Says why no client pays such an offer, whatever its limits; undefined if one may. */
  objectionTo(offer: PaymentRequirements): string | undefined;
  /** Signs payments of a client's account, in the form that the SDK's client takes. */
  signer(account: PayingAccount): Promise<SchemeNetworkClient>;
  /** Reads the authorization in a payload that a client signed. */
  authorization(payload: PaymentPayload["payload"]): SignedAuthorization;
  /** Loads the facilitator's part, only when a facilitator starts: most of a scheme's loading time goes into it. */
  settling(): Promise<Settling<Payment>>;
}>;

/** Facilitator's part of a scheme: verification and settlement of its payments. */
export type Settling<Payment = unknown> = Readonly<{
  /** Says, before a payload is read, why its kind within the scheme is not settled here; undefined if it is. */
  refusePayload(payload: Readonly<Record<string, unknown>>): Refusal | undefined;
  /**
   * Whether the payment would settle now. Changes nothing but what the caller is known to have asked.
   *
   * @throws what `Facilitator` says.
   */
  verify(order: Order<Payment>, transfers: Transfers): Promise<Answered<VerifyAnswer>>;
  /**
   * Settles the payment, at most once.
   *
   * @throws what `Facilitator` says.
   */
  settle(order: Order<Payment>, transfers: Transfers): Promise<Answered<SettleAnswer>>;
}>;

/** A payment with the requirements that it has to meet, and those that its client says it accepted. */
export type Order<Payment> = Readonly<{
  payment: Payment;
  requirements: PaymentRequirements;
  accepted: PaymentRequirements;
}>;

/**
 * Services of a facilitator for its schemes, on behalf of one caller: it knows who is served, what is on record and whose it is, queries the chain, and
 * settles. A scheme finds out who signed what, and leaves the rest to it.
 */
export type Transfers = Readonly<{
  /** The tokens that are settled, by address in lower case. */
  assets: ReadonlyMap<string, AcceptedAsset>;
  /** Whether the payer signed; recovers a signature once. */
  isSigned: SignatureCheck;
  verify(payment: SignedPayment): Promise<Answered<VerifyAnswer>>;
  settle(payment: SignedPayment): Promise<Answered<SettleAnswer>>;
}>;

/** A payment that this process has read, so that no other part of it reads it again. */
export type ReadPayment<Payment = unknown> = Readonly<{
  scheme: Scheme<Payment>;
  /** As it was sent, with fields that nobody here reads. */
  sent: PaymentPayload;
  /** The offer that the client says it accepted. */
  accepted: PaymentRequirements;
  payment: Payment;
}>;

/** Names a payment by one text, the same in ledgers and in the log lines of every service that handles it. */
export function namePayment({ network, asset, payer, nonce }: PaymentKey): string {
  return [network, asset.toLowerCase(), payer.toLowerCase(), nonce.toLowerCase()].join("|");
}
