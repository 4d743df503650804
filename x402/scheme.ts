import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";

/** What names a payment for good: the token takes a nonce of an account once. Everything but `network` is in lower case. */
export type PaymentKey = Readonly<{ network: string; asset: string; payer: string; nonce: string }>;

/** Who reads the sentence about a mistake: the client that sent a header, or the seller that sent a body. */
export type Audience = "client" | "seller";

/**
 * A scheme of x402 version 2 as every room knows it. What verifies and settles its payments extends this in the facilitator
 * (`facilitator/schemes/settling-scheme.ts`), what prices its offers in the resource server, what signs them in the client.
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
  /** Hexadecimal SHA-256 that only who holds the signed payment can name. Ledgers hold it, so it never changes for a payment. */
  digest(payment: Payment): string;
  /** Unix seconds from which on the payment can't be settled. */
  expiresAt(payment: Payment): number;
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
