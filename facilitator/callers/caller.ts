import { hash, randomUUID } from "node:crypto";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { z } from "zod";
import { MalformedPaymentError } from "#x402/malformed-payment-error.ts";
import { readPaymentIdentifier } from "#x402/payment-identifier.ts";

/** Facts of a call by which its caller is identified. */
export type CallerFacts = Readonly<{
  /** The seller whose API key the call carries, as `api-keys.ts` names them. */
  seller?: string | undefined;
  /** Names one sale of the seller; the `Idempotency-Key` header of a call over HTTP. */
  idempotencyKey?: string | undefined;
  /** Address that the call comes from, as a key of {@link toAddressKey}. */
  address?: string | undefined;
  /** Aborts when the caller has gone. */
  signal?: AbortSignal | undefined;
  /** The request of the call, for the lines about it. */
  request?: RequestTrace | undefined;
}>;

/**
 * Caller of an operation, who may own a payment's settlement:
 * - `sale`: one sale of one seller, named by an `Idempotency-Key`. It gets the outcome as often as it asks.
 * - `seller`: known by an API key, or by the payment-identifier that the payer put into the payment. It may try again, unless it
 *   verified the payment more than once: a middleware that is sent one payment many times verifies each copy, and its calls look
 *   the same, so one of them gets a success.
 * - `upfront-seller`: the same for a payment flow that settles before the work and verifies nothing (`@x402/core`'s flows `upfront`
 *   and `escrow`). Its copies can't be distinguished from its questions, so a success is reported once.
 * - `call`: known by nothing. Each call is its own caller.
 */
export type Caller = Readonly<{
  kind: "sale" | "seller" | "upfront-seller" | "call";
  /** Name for the ledger: a hash, or at random for a `call`. */
  owner: string;
  request?: RequestTrace | undefined;
  /** Key by which its calls to the chain take turns, and a signal that aborts when nobody waits for their answers any more. */
  waiting?: Readonly<{ caller: string; signal: AbortSignal | undefined }>;
}>;

/**
 * Returns the key by which callers are counted and take turns: the API key, else the address. Callers in this process
 * have neither, and count as one.
 */
export function countCaller({ seller, address }: CallerFacts): string {
  return seller ?? address ?? "";
}

/** Place in the requirements that names a payment flow other than verify, work, settle. */
const otherFlow = z.object({ extra: z.object({ paymentFlow: z.string().refine((flow) => flow !== "authorization") }) });

/** Identifies the caller by the strongest credential that there is: `Idempotency-Key`, API key, payment-identifier, nothing. */
export function identifyCaller(
  { seller, idempotencyKey }: CallerFacts,
  paymentPayload: unknown,
  paymentRequirements: unknown,
): Caller {
  if (idempotencyKey !== undefined) return { kind: "sale", owner: hashParts(["sale", seller ?? "", idempotencyKey]) };
  const kind = otherFlow.safeParse(paymentRequirements).success ? "upfront-seller" : "seller";
  if (seller !== undefined) return { kind, owner: hashParts(["seller", seller]) };
  const id = readPaymentIdentifier(paymentPayload);
  if (id !== undefined) return { kind, owner: hashParts(["payment-identifier", id]) };
  return { kind: "call", owner: randomUUID() };
}

/**
 * Reads an `Idempotency-Key` header: text of the caller's own making.
 *
 * @throws {MalformedPaymentError} when it is empty or too long.
 */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.length > 0 && header.length <= idempotencyKeyCharactersMax) return header;
  throw new MalformedPaymentError(
    "header Idempotency-Key",
    `expected 1 to ${idempotencyKeyCharactersMax} characters, e.g. a UUID`,
  );
}

const idempotencyKeyCharactersMax = 255;

function hashParts(parts: readonly string[]): string {
  return hash("sha256", JSON.stringify(parts));
}
