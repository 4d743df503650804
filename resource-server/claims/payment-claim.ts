import { hash } from "node:crypto";
import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { fingerprintPayment, readPaymentIdentifier, type PaymentKey } from "#x402/payment-identifier.ts";

/**
 * The states through which one payment buys one response. Payment state is stored only in the claim, and each transition is one atomic write. Two transitions are on disk before the sale continues: `settling` before the settlement is requested, `settled` before the response is sent. A
 * power failure may lose the others, which does no harm: a lost `working` counts as released, a lost `delivered` as settled.
 *
 *     (none) ──claim──▶ working ──work done──▶ settling ──settled──▶ settled ──delivered──▶ delivered
 *                          │                      │
 *                       work failed         settlement rejected
 *                          ▼                      ▼
 *                       (none)                 (none)              = released: the payment may be used again
 *
 * | state | meaning | after kill -9 |
 * |---|---|---|
 * | working | verified; the upstream may be running; nothing is charged | released; a retry repeats the work |
 * | settling | response retained; settlement may have been sent, outcome unknown | settled again: charges once (EIP-3009), same outcome |
 * | settled | charged; response retained until a client has received it | the same PAYMENT-SIGNATURE gets the response |
 * | delivered | charged and sent; response retained until expiry, in case of loss | the same PAYMENT-SIGNATURE and buyer get it again |
 *
 * Only the process that owns a claim changes it (`claim-owner.ts`). A claim belongs to one request: the same payment with another method,
 * path, query or body gets nothing.
 */
export type ClaimState = "working" | "settling" | "settled" | "delivered";

export type ClaimKey = PaymentKey;

export type NewClaim = Readonly<{
  key: ClaimKey;
  route: string;
  fingerprint: string;
  digest: string;
  payload: PaymentPayload;
  requirements: PaymentRequirements;
  /**
   * Identifies this claim to the facilitator in every settle request, so that only the claim's owner gets the outcome, even after kill -9.
   * Random, so that a copied or restored ledger can't claim another's outcome.
   */
  idempotencyKey: string;
  /** Unix seconds. */
  validBefore: number;
  /** Identifies the buyer; see {@link nameHolder}. Undefined in claims from before this field existed. */
  holder: string | undefined;
  identifier: string | undefined;
}>;

export type PaymentClaim = Readonly<
  Omit<NewClaim, "payload" | "identifier"> & {
    state: ClaimState;
    /** Amount to settle, in the token's smallest units: the offer's amount, or the used part of its maximum. */
    amount: string;
    payload: PaymentPayload | undefined;
    /** Retained from `settling` until the payment has expired, or the limit of retained responses is reached. */
    response: SoldResponse | undefined;
    /** Last response of the facilitator: a pending transaction while `settling`, then the outcome. */
    settlement: SettleResponse | undefined;
  }
>;

/** A claim as looked up, with only the size of its response, because many clients may look it up at the same time. */
export type FoundClaim = Readonly<Omit<PaymentClaim, "response"> & { hasResponse: boolean; responseBytes: number }>;

export type SoldResponse = Readonly<{
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  body: Uint8Array<ArrayBuffer>;
}>;

/** Hashes the identifier that a payer chose for its payment; undefined if there is none. Hexadecimal SHA-256. */
export function nameIdentifier(payload: PaymentPayload): string | undefined {
  const id = readPaymentIdentifier(payload);
  return id === undefined ? undefined : hash("sha256", `payment-identifier ${id}`);
}

type Purchase = Pick<NewClaim, "requirements" | "fingerprint">;

/** Returns whether two purchases count as the same for a payment-identifier; if not, using it for both is a conflict. */
export function areSamePurchase(a: Purchase, b: Purchase): boolean {
  return fingerprintPayment(a.requirements, a.fingerprint) === fingerprintPayment(b.requirements, b.fingerprint);
}

/**
 * Identifies a buyer by the payment-identifier or the address (IPv6: /64), which are not public, unlike settled payments on the chain.
 * Hexadecimal SHA-256.
 */
export function nameHolder(identifier: string | undefined, client: string): string {
  return identifier ?? hash("sha256", `address ${client}`);
}

/** Identifies a request by everything that determines what it buys: method, path with query, body. Hexadecimal SHA-256. */
export function requestFingerprint(
  request: Readonly<{ method: string; target: string; body: Uint8Array | undefined }>,
): string {
  const body = request.body === undefined ? noBodyHash : hash("sha256", request.body);
  return hash("sha256", `${request.method} ${request.target}\n${body}`);
}

const noBodyHash = hash("sha256", new Uint8Array());
