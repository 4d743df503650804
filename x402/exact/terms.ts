import { isRefusal, reason, type Refusal } from "../reason.ts";
import type { Transfers } from "../scheme.ts";
import type { AcceptedAsset } from "../signed-payment.ts";
import type { Requirements, Transfer } from "./transfer.ts";

/**
 * Returns the token of a payment, or the reason to reject its terms (recipient, amount and token). The client's accepted terms, the
 * resource server's requirements and the signed terms must be equal (x402 version 2, scheme `exact` on EVM, verification steps).
 */
export function judgeTerms(payment: Transfer, assets: Transfers["assets"]): AcceptedAsset | Refusal {
  const refusal = refuseAccepted(payment.accepted, payment.requirements);
  if (refusal !== undefined) return refusal;
  const asset = judgeAsset(payment.requirements, assets);
  return isRefusal(asset) ? asset : (refuseTransfer(payment) ?? asset);
}

function refuseAccepted(accepted: Requirements, required: Requirements): Refusal | undefined {
  const fields = ["scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds", "name", "version"] as const;
  const field = fields.find((name) => formatForComparison(accepted[name]) !== formatForComparison(required[name]));
  if (field === undefined) return undefined;
  const path = field === "name" || field === "version" ? `extra.${field}` : field;
  return {
    reason: reason.requirements,
    message: `paymentPayload.accepted.${path} is "${accepted[field]}", the requirements have "${required[field]}"; pay by the requirements as they were sent.`,
  };
}

/** Formats a value for comparison: lowercases addresses; no other compared value starts with 0x. */
function formatForComparison(value: string | number | bigint): string {
  const text = String(value);
  return text.startsWith("0x") ? text.toLowerCase() : text;
}

function judgeAsset({ asset, name, version }: Requirements, assets: Transfers["assets"]): AcceptedAsset | Refusal {
  if (name === "" || version === "") {
    const message = "paymentRequirements.extra has no name and version of the token's EIP-712 domain; add both.";
    return { reason: reason.missingDomain, message };
  }
  const token = assets.get(asset.toLowerCase());
  if (token === undefined) {
    const allowed = [...assets.values()].map(({ address }) => address).join(", ");
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
  return token;
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
