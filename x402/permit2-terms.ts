import { z } from "zod";
import { decimalUint256, evmAddress, paths, MalformedPaymentError, parsePart } from "./fields.ts";
import { encodeInteger, type Hex } from "./hex.ts";
import type { Permit2Payment } from "./transfer-payload.ts";
import {
  computePermitDigest,
  encodeSettle,
  permit2Address,
  permit2Proxies,
  type Permit,
  type Permit2Scheme,
  type SponsoredApproval,
} from "./permit2.ts";
import { reason, type Reason, type Rejection } from "./reason.ts";
import type { Transfers } from "./scheme.ts";
import { parseSignature, signCall, toSignatureBytes, type Signature, type SignedPayment } from "./signed-payment.ts";
import { sponsoringExtension } from "./sponsored-approval.ts";
import { rejectDifference, type Terms } from "./terms.ts";

type PresentedPermit = Readonly<{
  payment: Permit2Payment;
  scheme: Permit2Scheme;
  terms: Terms;
  /** Whether less than the permitted amount may be moved. */
  isMax?: boolean;
  extensions: Readonly<Record<string, unknown>>;
}>;

/**
 * Checks everything about a Permit2 payment that depends neither on the time nor on the chain (x402 version 2, schemes `exact` and `upto`
 * on EVM), at the cost of one signature recovery.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function checkPermit2(
  { payment, scheme, terms, extensions, isMax = false }: PresentedPermit,
  { isSigned, contracts }: Pick<Transfers, "isSigned" | "contracts">,
): SignedPayment | Rejection {
  const proxy = permit2Proxies[scheme];
  if (![permit2Address, proxy].every((contract) => contracts.has(contract.toLowerCase()))) {
    const message = `Permit2 (${permit2Address}) or its proxy (${proxy}) is not deployed on this chain.`;
    return { reason: reason.permit2Proxy, message };
  }
  const permit = parsePermit(payment, scheme);
  const { payTo, asset, amount, network } = terms.required;
  const compared = [
    ["token", permit.token, asset, reason.permit2Token],
    ["spender", permit.spender, proxy, reason.permit2Spender],
    ["to", permit.to, payTo, reason.permit2RecipientMismatch],
  ] as const;
  const rejection = rejectDifference("the permit's", compared) ?? rejectAmount(permit, amount, isMax);
  if (rejection !== undefined) return rejection;
  const approval = readApproval(extensions, permit);
  if (approval !== undefined && "reason" in approval) return approval;
  const encodeCall = (signed: Hex | Signature) => ({
    to: proxy,
    data: encodeSettle({ permit, amount, signature: toSignatureBytes(signed), approval }),
  });
  const { from: payer, deadline: validBefore, validAfter, nonce } = permit;
  const digest = computePermitDigest(permit, Number(network.split(":")[1]));
  const call = signCall({ payer, digest, signature: payment.signature, encodeCall }, { isSigned, contracts });
  if ("reason" in call) return { ...call, reason: reason.permit2Signature };
  if (call.contract !== proxy) {
    const message = "a wallet that does not exist yet (ERC-6492) can't have approved Permit2; create it first.";
    return { reason: reason.permit2Signature, message };
  }
  const authorization = { validAfter, validBefore, nonce: `0x${encodeInteger(nonce)}` as const };
  const max = scheme === "upto" ? permit.amount : undefined;
  return { ...call, asset: terms.asset.address, payer, payTo, amount, max, authorization };
}

function parsePermit({ permit2Authorization: sent }: Permit2Payment, scheme: Permit2Scheme): Permit {
  const at = `${paths.payment}.payload.permit2Authorization`;
  const number = (text: string, field: string) => parsePart(decimalUint256, text, `${at}.${field}`);
  const { permitted, from, spender, nonce, deadline, witness } = sent;
  if (scheme === "upto" && witness.facilitator === undefined)
    throw new MalformedPaymentError(`${at}.witness.facilitator`, "expected the facilitator's address");
  return {
    token: permitted.token,
    amount: number(permitted.amount, "permitted.amount"),
    from,
    spender,
    nonce: number(BigInt(nonce).toString(), "nonce"),
    deadline: number(deadline, "deadline"),
    to: witness.to,
    facilitator: scheme === "upto" ? witness.facilitator : undefined,
    validAfter: number(witness.validAfter, "witness.validAfter"),
  };
}

function rejectAmount({ amount: permitted }: Permit, required: bigint, isMax: boolean): Rejection | undefined {
  if (isMax && required > permitted) {
    return { reason: reason.uptoAmount, message: `${required} is more than the permitted ${permitted}.` };
  }
  if (isMax || required === permitted) return undefined;
  return {
    reason: reason.permit2Amount,
    message: `the permit is for ${permitted}, but the requirements specify exactly ${required}.`,
  };
}

const approvalExtension = z.object({
  info: z.object({
    from: evmAddress,
    asset: evmAddress,
    spender: evmAddress,
    amount: decimalUint256,
    deadline: decimalUint256,
    signature: z.string(),
  }),
});

/** Reads the payer's signed approval of Permit2 (extension `eip2612GasSponsoring`); undefined if there is none. */
export function readApproval(
  extensions: Readonly<Record<string, unknown>>,
  permit: Pick<Permit, "from" | "token" | "amount">,
): SponsoredApproval | Rejection | undefined {
  const sent = extensions[sponsoringExtension];
  // A buyer may echo the offer's extension without an approval.
  if (!z.object({ info: z.object({ signature: z.string() }) }).safeParse(sent).success) return undefined;
  const { info } = parsePart(approvalExtension, sent, `${paths.payment}.extensions.${sponsoringExtension}`);
  const signature = parseSignature(info.signature);
  if (signature === undefined)
    return { reason: reason.approvalFormat, message: "the approval's signature is not 65 bytes long." };
  const compared = [
    ["from", info.from, permit.from, reason.approvalFrom],
    ["asset", info.asset, permit.token, reason.approvalAsset],
    ["spender", info.spender, permit2Address, reason.approvalSpender],
  ] as const;
  const rejection = rejectDifference("the approval's", compared);
  if (rejection !== undefined) return rejection;
  if (info.amount !== permit.amount) {
    const message = `the approval is for ${info.amount}, but the proxy requires exactly the permitted ${permit.amount}.`;
    return { reason: reason.approvalAmount, message };
  }
  const digits = Buffer.from(signature.compact).toString("hex");
  const { amount: value, deadline } = info;
  return { value, deadline, r: `0x${digits.slice(0, 64)}`, s: `0x${digits.slice(64)}`, v: 27 + signature.yParity };
}

export const permit2Reasons: ReadonlyMap<Reason, Reason> = new Map([
  [reason.signature, reason.permit2Signature],
  [reason.validBefore, reason.permit2Deadline],
  [reason.validAfter, reason.permit2NotYetValid],
  [reason.nonceUsed, reason.permit2Nonce],
  [reason.balance, reason.permit2Balance],
  [reason.simulation, reason.permit2Simulation],
]);
