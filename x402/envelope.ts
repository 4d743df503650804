import { PaymentPayloadV2Schema, PaymentRequirementsV2Schema } from "@x402/core/schemas";
import type { PaymentPayload, PaymentRequirements } from "@x402/core/types";
import { type Audience, MalformedPaymentError, parsePart } from "./fields.ts";
import type { ReadPayment, Scheme } from "./scheme.ts";

export type Envelope = Readonly<{
  sent: PaymentPayload;
  accepted: PaymentRequirements;
  payload: Readonly<Record<string, unknown>>;
}>;

/** Marks a `/verify` request in which a seller checks its terms with a made-up payment. */
export const termsCheckHeader = "Gatehouse-Terms-Check";

/** Control characters: PostgreSQL accepts no NUL, and ledgers identify a payment by network and asset as sent. */
const controlCharacter = /\p{Cc}/u;

/**
 * Parses a payment as sent by a client (x402 version 2, `PaymentPayload`), except for the payload, whose format the scheme defines.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field; `path` is the location of the payment.
 */
export function readEnvelope(sent: unknown, path: string): Envelope {
  const { accepted, payload } =
    readPlainPayment(sent) ?? parsePart(PaymentPayloadV2Schema, allowNoTimeout(sent, "accepted"), path);
  for (const field of ["network", "asset"] as const) {
    if (!controlCharacter.test(accepted[field])) continue;
    throw new MalformedPaymentError(`accepted.${field}`, "expected text without control characters").within(path);
  }
  return { sent: sent as PaymentPayload, accepted: accepted as PaymentRequirements, payload };
}

/**
 * Parses the requirements that a payment must meet (x402 version 2, `PaymentRequirements`).
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field; `path` is the location of the requirements.
 */
export function readRequirements(sent: unknown, path: string): PaymentRequirements {
  const plain = readPlainRequirements(sent);
  if (plain !== undefined) return plain;
  return parsePart(PaymentRequirementsV2Schema, allowNoTimeout({ sent }, "sent").sent, path) as PaymentRequirements;
}

/**
 * Replaces the `maxTimeoutSeconds` of 0 in claims by `@x402/evm`'s seller (scheme `batch-settlement`), because the schema of `@x402/core`
 * rejects it. Claims have no time limit.
 */
function allowNoTimeout<Sent>(holder: Sent, key: string): Sent {
  const isHolder = typeof holder === "object" && holder !== null;
  const terms = isHolder ? (holder as Readonly<Record<string, unknown>>)[key] : undefined;
  if (typeof terms !== "object" || terms === null || !("scheme" in terms) || !("maxTimeoutSeconds" in terms))
    return holder;
  if (terms.scheme !== "batch-settlement" || terms.maxTimeoutSeconds !== 0) return holder;
  return { ...holder, [key]: { ...terms, maxTimeoutSeconds: 1 } };
}

type Source = Readonly<{ path: string; audience: Audience }>;

/**
 * Parses the payment with its scheme.
 *
 * @throws {MalformedPaymentError} as `readEnvelope` does.
 */
export function readBy<Payment>(scheme: Scheme<Payment>, envelope: Envelope, source: Source): ReadPayment<Payment> {
  const { sent, accepted } = envelope;
  return { scheme, sent, accepted, payment: readPayload(scheme, envelope, source) };
}

/**
 * Parses the payload with its scheme.
 *
 * @throws {MalformedPaymentError} as `readEnvelope` does.
 */
export function readPayload<Payment>(
  scheme: Pick<Scheme<Payment>, "read">,
  { payload }: Pick<Envelope, "payload">,
  { path, audience }: Source,
): Payment {
  try {
    return scheme.read(payload, audience);
  } catch (error) {
    if (error instanceof MalformedPaymentError) throw error.within(path === "" ? "payload" : `${path}.payload`);
    throw error;
  }
}

/** Parses the usual form of a payment, at a tenth of the schemas' cost. Undefined for anything else. */
export function readPlainPayment(
  sent: unknown,
): Readonly<{ accepted: PaymentRequirements; payload: Record<string, unknown> }> | undefined {
  if (!isPlain(sent) || sent["x402Version"] !== 2) return undefined;
  const { resource, payload, extensions } = sent;
  const accepted = readPlainRequirements(sent["accepted"]);
  const isUsual = isPlain(payload) && isPlainOrAbsent(extensions) && (resource === undefined || isResource(resource));
  return isUsual && accepted !== undefined ? { accepted, payload } : undefined;
}

export function readPlainRequirements(sent: unknown): PaymentRequirements | undefined {
  if (!isPlain(sent)) return undefined;
  const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = sent;
  const isUsual =
    isText(scheme) &&
    isText(network) &&
    network.length >= 3 &&
    network.includes(":") &&
    isText(amount) &&
    isText(asset) &&
    isText(payTo) &&
    typeof maxTimeoutSeconds === "number" &&
    maxTimeoutSeconds > 0 &&
    isPlain(extra);
  if (!isUsual) return undefined;
  const caip2 = network as PaymentRequirements["network"];
  return { scheme, network: caip2, amount, asset, payTo, maxTimeoutSeconds, extra };
}

function isResource(sent: unknown): boolean {
  if (!isPlain(sent)) return false;
  const { url, description, mimeType, serviceName, tags, iconUrl } = sent;
  const rest = [serviceName, tags, iconUrl];
  return isText(url) && [description, mimeType].every(isTextOrAbsent) && rest.every((field) => field === undefined);
}

/** Excludes an object with a member `__proto__`, which the schemas drop. */
function isPlain(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isObject && !Object.hasOwn(value, "__proto__");
}

function isPlainOrAbsent(value: unknown): boolean {
  return value === undefined || isPlain(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
