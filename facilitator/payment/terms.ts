import type { Hex } from "#x402/hex.ts";
import type { Requirements, Transfer } from "./transfer.ts";
import { reason, type Refusal } from "#x402/reason.ts";

/** A token that payments may be made in, with its EIP-712 domain separator. */
export type AcceptedAsset = Readonly<{ address: Hex; name: string; version: string; separator: Hex }>;

/** What a facilitator accepts. */
export type AcceptedTerms = Readonly<{
  /** By address in lower case. */
  assets: ReadonlyMap<string, AcceptedAsset>;
  /** Addresses in lower case; empty: everyone. */
  payees: ReadonlySet<string>;
}>;

/**
 * Says why the terms of a payment (who gets how much of what) can't be accepted, if so. What the client accepted, what the
 * resource server requires and what was signed have to be the same (x402 version 2, scheme `exact` on EVM, verification steps).
 */
export function refuseTerms(payment: Transfer, terms: AcceptedTerms): Refusal | undefined {
  return (
    refuseAccepted(payment.accepted, payment.requirements) ??
    refuseAsset(payment.requirements, terms) ??
    refuseTransfer(payment)
  );
}

/**
 * Says that a payee is not served, if so. It counts for settlements that are not begun: one on record comes to its end whoever is
 * served by now, and its owner is told.
 */
export function refusePayee(payTo: Hex, { payees }: Pick<AcceptedTerms, "payees">): Refusal | undefined {
  if (payees.size === 0 || payees.has(payTo.toLowerCase())) return undefined;
  return { reason: reason.requirements, message: `payee ${payTo} is not served here.` };
}

/** The token of a payment whose terms were accepted. */
export function assetOf(payment: Transfer, terms: AcceptedTerms): AcceptedAsset | undefined {
  return terms.assets.get(payment.requirements.asset.toLowerCase());
}

function refuseAccepted(accepted: Requirements, required: Requirements): Refusal | undefined {
  const fields = ["scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds", "name", "version"] as const;
  const field = fields.find((name) => comparable(accepted[name]) !== comparable(required[name]));
  if (field === undefined) return undefined;
  const path = field === "name" || field === "version" ? `extra.${field}` : field;
  return {
    reason: reason.requirements,
    message: `paymentPayload.accepted.${path} is "${accepted[field]}", the requirements have "${required[field]}"; pay by the requirements as they were sent.`,
  };
}

/** Addresses are compared without their checksum's case; nothing else that is compared starts with 0x. */
function comparable(value: string | number | bigint): string {
  const text = String(value);
  return text.startsWith("0x") ? text.toLowerCase() : text;
}

function refuseAsset({ asset, name, version }: Requirements, terms: AcceptedTerms): Refusal | undefined {
  if (name === "" || version === "") {
    const message = "paymentRequirements.extra has no name and version of the token's EIP-712 domain; add both.";
    return { reason: reason.missingDomain, message };
  }
  const token = terms.assets.get(asset.toLowerCase());
  if (token === undefined) {
    const allowed = [...terms.assets.values()].map(({ address }) => address).join(", ");
    return { reason: reason.requirements, message: `asset ${asset} is not settled here; use one of ${allowed}.` };
  }
  if (name !== token.name) {
    return { reason: reason.tokenName, message: `extra.name is "${name}", the token's is "${token.name}".` };
  }
  if (version !== token.version) {
    return {
      reason: reason.tokenVersion,
      message: `extra.version is "${version}", the token's is "${token.version}".`,
    };
  }
  return undefined;
}

function refuseTransfer({ requirements, authorization }: Transfer): Refusal | undefined {
  const payTo = requirements.payTo.toLowerCase();
  if (authorization.to.toLowerCase() !== payTo) {
    return {
      reason: reason.recipient,
      message: `the authorization pays ${authorization.to}, the requirements ask for ${requirements.payTo}.`,
    };
  }
  if (authorization.value !== requirements.amount) {
    return {
      reason: reason.value,
      message: `the authorization is for ${authorization.value}, the requirements ask for exactly ${requirements.amount}.`,
    };
  }
  return undefined;
}
