import { hash } from "node:crypto";
import type { PaymentPayload, PaymentRequirements, SettleResponse } from "@x402/core/types";
import { readPaymentIdentifier } from "#x402/payment-identifier.ts";
import type { PaymentKey } from "#x402/scheme.ts";

/**
 * States in which one payment becomes one response. The claim is the only place where money changes state; each move is
 * one atomic write.
 *
 *     (none) ──claim──▶ working ──work done──▶ settling ──settled──▶ settled ──delivered──▶ delivered
 *                          │                      │
 *                       work failed         settlement refused
 *                          ▼                      ▼
 *                       (none)                 (none)              = released: the payment may be used again
 *
 * | state | what is true | after kill -9 |
 * |---|---|---|
 * | working | verified; the upstream may be running; nothing is charged | released; a retry does the work again |
 * | settling | the response is kept; the settlement may have been sent; its outcome is not known | the settlement is requested again: it charges once (EIP-3009) and gives the same outcome |
 * | settled | charged; the response is kept until a client has got it | the same PAYMENT-SIGNATURE gets the response |
 * | delivered | charged; the network took the response, which is kept until the payment expires, in case the client lost it | the same PAYMENT-SIGNATURE of the same buyer gets the response again |
 *
 * A claim is owned by the process that works on it or delivers it; nobody else moves it while that process lives (`claim-owner.ts`).
 * A claim belongs to one request: the same payment with another method, path, query or body gets nothing.
 */
type ClaimState = "working" | "settling" | "settled" | "delivered";

/** A claim is named as its payment is. */
export type ClaimKey = PaymentKey;

/** A claim to be made on a payment. */
export type NewClaim = Readonly<{
  key: ClaimKey;
  route: string;
  /** Names the request; see `requestFingerprint`. */
  fingerprint: string;
  /** Names the signed payment; see `Payment.digest`. */
  digest: string;
  payload: PaymentPayload;
  requirements: PaymentRequirements;
  /**
   * Names this claim to the facilitator, each time that its settlement is requested: whoever takes it up after kill -9 gets the
   * outcome, and nobody else does. At random, so that a ledger that was copied or restored claims nothing for another.
   */
  idempotencyKey: string;
  /** Unix seconds. */
  validBefore: number;
  /** Names the buyer; see {@link nameHolder}. Undefined in claims from before it was kept. */
  holder: string | undefined;
  /** Names the payment's own identifier, of which a payer has one claim; see {@link nameIdentifier}. */
  identifier: string | undefined;
}>;

/** Names the identifier that a payer chose for its payment; undefined if there is none. Hexadecimal SHA-256. */
export function nameIdentifier(payload: PaymentPayload): string | undefined {
  const id = readPaymentIdentifier(payload);
  return id === undefined ? undefined : hash("sha256", `payment-identifier ${id}`);
}

/**
 * Names a buyer by what the chain does not show. A settled authorization and its signature are in a transaction for everybody to read: who asks for a
 * delivered response again shows the payment's own identifier, or comes from the address (IPv6: /64) that bought. Hexadecimal SHA-256.
 */
export function nameHolder(payload: PaymentPayload, client: string): string {
  return nameIdentifier(payload) ?? hash("sha256", `address ${client}`);
}

/** A payment that buys, or bought, one response. */
export type PaymentClaim = Readonly<
  Omit<NewClaim, "payload" | "identifier"> & {
    state: ClaimState;
    /** Until it is delivered. */
    payload: PaymentPayload | undefined;
    /** From `settling` until the payment has expired, or the limit of kept responses is reached. */
    response: SoldResponse | undefined;
    /** Last answer of the facilitator: a pending transaction while `settling`, the outcome after it. */
    settlement: SettleResponse | undefined;
  }
>;

/** A claim as it is looked up, without its response, of which only the size is read: many may look for it at one time. */
export type FoundClaim = Readonly<Omit<PaymentClaim, "response"> & { hasResponse: boolean; responseBytes: number }>;

/** Names a request by all that decides what it buys: method, path with query, body. Hexadecimal SHA-256. */
export function requestFingerprint(
  request: Readonly<{ method: string; target: string; body: Uint8Array | undefined }>,
): string {
  const body = hash("sha256", request.body ?? new Uint8Array());
  return hash("sha256", `${request.method} ${request.target}\n${body}`);
}

/** A response that a client buys, whole. */
export type SoldResponse = Readonly<{
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  body: Uint8Array<ArrayBuffer>;
}>;
