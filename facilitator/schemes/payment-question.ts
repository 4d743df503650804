import type { PaymentRequirements } from "@x402/core/types";
import { paths, readBy, readEnvelope, readRequirements } from "#x402/envelope.ts";
import { reason, type Refusal } from "#x402/reason.ts";
import type { Order, ReadPayment, Scheme, Settling } from "#x402/scheme.ts";

/** A scheme with what a facilitator does by it. */
export type SettlingScheme = Readonly<{ scheme: Scheme; settling: Settling }>;

/** What a facilitator is asked about: a payment as it came, or one that this process has read already. */
export type PaymentQuestion = Readonly<
  { paymentRequirements: unknown } & ({ paymentPayload: unknown } | { read: ReadPayment })
>;

/** A question that was read: what settles the payment, or why nothing here does. */
export type ReadQuestion = Readonly<{ by: SettlingScheme; order: Order<unknown> } | { refusal: Refusal }>;

/**
 * Reads what is asked. Other versions, schemes and networks are refused by name first, because their fields have other forms.
 *
 * @throws {MalformedPaymentError} with the path of the first field that is wrong.
 */
export function readQuestion(
  question: PaymentQuestion,
  { network, schemes }: Readonly<{ network: string; schemes: readonly SettlingScheme[] }>,
): ReadQuestion {
  const sent = sentIn(question);
  const version = refuseVersion(sent);
  if (version !== undefined) return { refusal: version };
  const requirements = readRequirements(question.paymentRequirements, paths.requirements);
  const envelope =
    "read" in question ? { ...question.read, payload: question.read.sent.payload } : readEnvelope(sent, paths.payment);
  const by = schemes.find(({ scheme }) => scheme.name === requirements.scheme);
  if (by === undefined) return { refusal: unknownScheme(requirements, schemes) };
  if (requirements.network !== network) return { refusal: otherNetwork(requirements, network) };
  const refusal = by.settling.refusePayload(envelope.payload);
  if (refusal !== undefined) return { refusal };
  const isRead = "read" in question && question.read.scheme === by.scheme;
  const { payment } = isRead ? question.read : readBy(by.scheme, envelope, { path: paths.payment, audience: "seller" });
  return { by, order: { payment, requirements, accepted: envelope.accepted } };
}

/** The payment as its client sent it. */
export function sentIn(question: PaymentQuestion): unknown {
  return "read" in question ? question.read.sent : question.paymentPayload;
}

function refuseVersion(paymentPayload: unknown): Refusal | undefined {
  if (typeof paymentPayload !== "object" || paymentPayload === null || !("x402Version" in paymentPayload))
    return undefined;
  const { x402Version } = paymentPayload;
  if (typeof x402Version !== "number" || x402Version === 2) return undefined;
  return {
    reason: reason.version,
    message: `x402 version ${x402Version} is not spoken here; send a version 2 payment.`,
  };
}

function unknownScheme({ scheme }: PaymentRequirements, schemes: readonly SettlingScheme[]): Refusal {
  const known = schemes.map((settling) => `"${settling.scheme.name}"`).join(" or ");
  return { reason: reason.scheme, message: `scheme "${scheme}" is not settled here; use ${known}.` };
}

function otherNetwork({ network: asked }: PaymentRequirements, network: string): Refusal {
  return { reason: reason.network, message: `network "${asked}" is not settled here; use "${network}".` };
}
