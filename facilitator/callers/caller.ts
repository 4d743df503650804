import { hash, randomUUID } from "node:crypto";
import { z } from "zod";
import type { RequestTrace } from "#daemon/http/request-trace.ts";
import { readRequirements } from "#x402/envelope.ts";
import { paths, MalformedPaymentError } from "#x402/fields.ts";
import { fingerprintPayment, readPaymentIdentifier } from "#x402/payment-identifier.ts";

export type CallerInfo = Readonly<{
  /** Seller that the API key belongs to, as identified by `api-keys.ts`: a name from `sellers`, or the key's hash. */
  seller?: string | undefined;
  /** Identifier of one sale of the seller; over HTTP, the `Idempotency-Key` header. */
  idempotencyKey?: string | undefined;
  /** Whether the seller marked the request as a check of its terms with a made-up payment. */
  isTermsCheck?: boolean | undefined;
  /** Caller's address, as a key of {@link toAddressKey}. */
  address?: string | undefined;
  signal?: AbortSignal | undefined;
  request?: RequestTrace | undefined;
}>;

/** Identifier that a payer chose for a payment to one seller, and the fingerprint of the purchase. Hexadecimal SHA-256. */
export type BoundIdentifier = Readonly<{ id: string; fingerprint: string }>;

/**
 * Caller of an operation, which may own a payment's settlement:
 * - `sale`: one sale of one seller, identified by an `Idempotency-Key`. It gets the outcome of every request.
 * - `seller`: identified by an API key, or by the payment-identifier that the payer put into the payment. It may retry, unless it verified
 * the payment more than once: a middleware that receives copies of a payment verifies each, and its calls are indistinguishable, so only
 * one of them gets a success.
 * - `upfront-seller`: the same for a payment flow that settles before the work and verifies nothing (`@x402/core`'s flows `upfront` and
 * `escrow`). Copies can't be distinguished from retries, so a success is reported once.
 * - `call`: unidentified. Each call is its own caller.
 */
export type Caller = Readonly<{
  kind: "sale" | "seller" | "upfront-seller" | "call";
  /** Owner in the ledger: a hash, or random for a `call`. */
  owner: string;
  seller?: string | undefined;
  identifier?: BoundIdentifier | undefined;
  /** Whether the caller is known to the operator: it has an API key, or is part of this process. */
  isKnown?: boolean;
  request?: RequestTrace | undefined;
  /** Key for fair scheduling of the caller's calls to the chain, and a signal that aborts when no client waits for the results. */
  waiting?: Readonly<{ caller: string; signal: AbortSignal | undefined }>;
}>;

/** Returns the key by which callers are counted and scheduled: the API key, else the address. Callers in this process have neither, and count as one. */
export function countCaller({ seller, address }: CallerInfo): string {
  return seller ?? address ?? "";
}

/** Field of the requirements that specifies a payment flow other than verify, work, settle. */
const otherFlow = z.object({ extra: z.object({ paymentFlow: z.string().refine((flow) => flow !== "authorization") }) });

/** Identifies the caller by its strongest credential: `Idempotency-Key`, API key, payment-identifier, none. */
export function identifyCaller(
  { seller, idempotencyKey }: CallerInfo,
  paymentPayload: unknown,
  paymentRequirements: unknown,
): Caller {
  const id = readPaymentIdentifier(paymentPayload);
  const identifier = id === undefined ? undefined : bindIdentifier([seller ?? "", id], paymentPayload);
  const callerKey = { seller, identifier };
  if (idempotencyKey !== undefined)
    return { ...callerKey, kind: "sale", owner: hashParts(["sale", seller ?? "", idempotencyKey]) };
  const kind = otherFlow.safeParse(paymentRequirements).success ? "upfront-seller" : "seller";
  if (seller !== undefined) return { ...callerKey, kind, owner: hashParts(["seller", seller]) };
  if (id !== undefined) return { ...callerKey, kind, owner: hashParts(["payment-identifier", id]) };
  return { kind: "call", owner: randomUUID() };
}

const identifiedSchema = z.object({ accepted: z.unknown(), resource: z.object({ url: z.string() }).optional() });

/** Binds an identifier to the terms that the payer accepted, and to the resource. A payment doesn't contain the request's method. */
function bindIdentifier(parts: readonly string[], payload: unknown): BoundIdentifier {
  const { accepted, resource } = identifiedSchema.safeParse(payload).data ?? {};
  const terms = readRequirements(accepted, `${paths.payment}.accepted`);
  return { id: hashParts(parts), fingerprint: fingerprintPayment(terms, resource?.url ?? "") };
}

/**
 * Reads an `Idempotency-Key` header, whose text the caller chooses.
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

export function findNetwork<Network extends Readonly<{ network: string }>>(
  requirements: unknown,
  networks: readonly Network[],
): Network | undefined {
  if (typeof requirements !== "object" || requirements === null || !("network" in requirements)) return undefined;
  return networks.find(({ network }) => network === requirements.network);
}

/** This caller's limit (429) or the global limit (503) was reached. Nothing was done; retry later. */
export class OverloadError extends Error {
  override readonly name = "OverloadError";
  readonly code: "seller_limit" | "overloaded";
  readonly status: 429 | 503;
  readonly retrySeconds: number;

  constructor(status: 429 | 503, message: string, retrySeconds = 1) {
    super(message);
    this.status = status;
    this.code = status === 429 ? "seller_limit" : "overloaded";
    this.retrySeconds = retrySeconds;
  }
}
