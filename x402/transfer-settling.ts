import { nameReasons, reject, type Rejected } from "./payment-result.ts";
import { decimalUint256, parsePart, paths } from "./fields.ts";
import { permit2Address, permit2Proxies } from "./permit2.ts";
import { checkPermit2, permit2Reasons } from "./permit2-terms.ts";
import { reason, type Reason, type Rejection } from "./reason.ts";
import type { Order, Settling, Transfers } from "./scheme.ts";
import { toSignedPayment, type SignedPayment } from "./signed-payment.ts";
import { checkTerms, keysOnly, type Terms } from "./terms.ts";
import type { Eip3009Payment, Permit2Payment, TransferPayment } from "./transfer-payload.ts";

export const settleExact: Settling<TransferPayment> = {
  rejectPayload(payload) {
    if ("authorization" in payload || "permit2Authorization" in payload || !("delegationManager" in payload))
      return undefined;
    const message = "ERC-7710 payments are not supported; pay by EIP-3009 or Permit2.";
    return { reason: reason.payloadType, message };
  },
  kinds: () => [{}],
  isSignedByKey: (order) => isKeyed(checkExact(order, keysOnly)),
  async verify(order, transfers) {
    const judged = checkExact(order, transfers);
    return "result" in judged ? judged : nameReasons(await transfers.verify(judged), namesFor(order));
  },
  async settle(order, transfers) {
    const judged = checkExact(order, transfers);
    return "result" in judged ? judged : nameReasons(await transfers.settle(judged), namesFor(order));
  },
};

/** Settlement of `upto`: `verify` receives the maximum, `settle` the amount used; zero needs no transaction. */
export const settleUpto: Settling<Permit2Payment> = {
  rejectPayload: () => undefined,
  kinds: ({ contracts, signer }) =>
    [permit2Address, permit2Proxies.upto].every((contract) => contracts.has(contract.toLowerCase()))
      ? [{ facilitatorAddress: signer }]
      : [],
  isSignedByKey: (order) => isKeyed(checkUpto(order, keysOnly, { isMax: true })),
  async verify(order, transfers) {
    const judged = checkUpto(order, transfers, { isMax: false });
    return "result" in judged ? judged : nameReasons(await transfers.verify(judged), permit2Reasons);
  },
  async settle(order, transfers) {
    const judged = checkUpto(order, transfers, { isMax: true });
    if ("result" in judged) return judged;
    const answered = judged.amount === 0n ? await transfers.settleNothing(judged) : await transfers.settle(judged);
    return { ...nameReasons(answered, permit2Reasons), reportsAmount: true };
  },
};

type Offline = Pick<Transfers, "assets" | "isSigned" | "contracts">;

function isKeyed(judged: SignedPayment | Rejected): boolean {
  return !("result" in judged) && judged.walletSignature === undefined;
}

function checkExact(order: Order<TransferPayment>, transfers: Offline): SignedPayment | Rejected {
  const { payment, extensions } = order;
  if ("permit2Authorization" in payment) {
    const judge = (terms: Terms) =>
      rejectMethod("permit2", terms) ?? checkPermit2({ payment, scheme: "exact", terms, extensions }, transfers);
    return check(order, payment.permit2Authorization.from, transfers, judge);
  }
  const judge = (terms: Terms) => rejectMethod("eip3009", terms) ?? checkEip3009(payment, terms, transfers);
  return check(order, payment.authorization.from, transfers, judge);
}

function checkUpto(
  order: Order<Permit2Payment>,
  transfers: Offline,
  { isMax }: Readonly<{ isMax: boolean }>,
): SignedPayment | Rejected {
  const { payment, extensions } = order;
  const judge = (terms: Terms) => checkPermit2({ payment, scheme: "upto", terms, extensions, isMax }, transfers);
  return check(order, payment.permit2Authorization.from, transfers, judge, { isMax });
}

/** Checks everything about a payment that depends neither on the time nor on the chain. */
function check(
  order: Order<unknown>,
  payer: string,
  { assets }: Offline,
  judge: (terms: Terms) => SignedPayment | Rejection,
  options?: Parameters<typeof checkTerms>[2],
): SignedPayment | Rejected {
  const terms = checkTerms(order, assets, options);
  if ("reason" in terms) return reject(terms, payer);
  const judged = judge(terms);
  const { unserved } = terms;
  return "reason" in judged ? reject(unserved ?? judged, payer) : { ...judged, unserved };
}

const noNames: ReadonlyMap<Reason, Reason> = new Map();

function namesFor({ payment }: Order<TransferPayment>): ReadonlyMap<Reason, Reason> {
  return "permit2Authorization" in payment ? permit2Reasons : noNames;
}

function rejectMethod(used: string, { required: { method } }: Terms): Rejection | undefined {
  if (used === method) return undefined;
  const message = `the payment uses "${used}", but the requirements specify extra.assetTransferMethod "${method}".`;
  return { reason: reason.payloadType, message };
}

/**
 * Checks everything about an EIP-3009 payment that depends neither on the time nor on the chain, at the cost of one signature recovery.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
function checkEip3009(
  { authorization: sent, signature }: Eip3009Payment,
  { required: { payTo, amount }, asset }: Terms,
  { isSigned, contracts }: Offline,
): SignedPayment | Rejection {
  const { from, to, nonce } = sent;
  const number = (field: "value" | "validAfter" | "validBefore") =>
    parsePart(decimalUint256, sent[field], `${paths.payment}.payload.authorization.${field}`);
  const [value, validAfter, validBefore] = [number("value"), number("validAfter"), number("validBefore")];
  if (to.toLowerCase() !== payTo.toLowerCase()) {
    const message = `the authorization pays ${to}, but the requirements specify ${payTo}.`;
    return { reason: reason.recipient, message };
  }
  if (value !== amount) {
    const message = `the authorization is for ${value}, but the requirements specify exactly ${amount}.`;
    return { reason: reason.value, message };
  }
  const authorization = { from, to, value, validAfter, validBefore, nonce };
  return toSignedPayment({ authorization, signature, payTo, amount }, { asset, isSigned, contracts });
}
