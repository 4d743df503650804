import { decimalUint256, MalformedPaymentError, parsePart, paths } from "../fields.ts";
import { refuse, type Answer, type Answered, type Refused } from "../answer.ts";
import { checkPermit2, namePermit2Reasons } from "../permit2-terms.ts";
import { isRefusal, reason, type Refusal } from "../reason.ts";
import type { Order, Settling, Transfers } from "../scheme.ts";
import { toSignedPayment, type SignedPayment } from "../signed-payment.ts";
import { checkTerms, type Terms } from "../terms.ts";
import type { Authorization } from "../typed-data.ts";
import type { Eip3009Payment, TransferPayment } from "../transfer-payload.ts";

/** Settlement of scheme `exact`, with EIP-3009 or Permit2. */
export const settleExact: Settling<TransferPayment> = {
  refusePayload(payload) {
    if ("authorization" in payload || "permit2Authorization" in payload || !("delegationManager" in payload))
      return undefined;
    const message = "ERC-7710 payments are not supported; pay by EIP-3009 or Permit2.";
    return { reason: reason.payloadType, message };
  },
  kinds: () => [{}],
  async verify(order, transfers) {
    const judged = check(order, transfers);
    return "answer" in judged ? judged : nameReasons(order, await transfers.verify(judged));
  },
  async settle(order, transfers) {
    const judged = check(order, transfers);
    return "answer" in judged ? judged : nameReasons(order, await transfers.settle(judged));
  },
};

/** Checks everything about a payment that depends neither on the time nor on the chain. */
function check(order: Order<TransferPayment>, transfers: Transfers): SignedPayment | Refused {
  const { payment } = order;
  const terms = checkTerms(order, transfers.assets);
  const isPermit2 = "permit2Authorization" in payment;
  const payer = isPermit2 ? payment.permit2Authorization.from : payment.authorization.from;
  if (isRefusal(terms)) return refuse(terms, payer);
  const judged =
    refuseMethod(isPermit2 ? "permit2" : "eip3009", terms.required.method) ??
    (isPermit2
      ? checkPermit2({ payment, scheme: "exact", terms, extensions: order.extensions }, transfers)
      : checkEip3009(payment, terms, transfers));
  return isRefusal(judged) ? refuse(terms.unserved ?? judged, payer) : { ...judged, unserved: terms.unserved };
}

function nameReasons<Said extends Answer>(
  { payment }: Order<TransferPayment>,
  answered: Answered<Said>,
): Answered<Said> {
  return "permit2Authorization" in payment ? namePermit2Reasons(answered) : answered;
}

function refuseMethod(used: string, required: string): Refusal | undefined {
  if (used === required) return undefined;
  const message = `the payment uses "${used}", but the requirements specify extra.assetTransferMethod "${required}".`;
  return { reason: reason.payloadType, message };
}

/**
 * Checks everything about an EIP-3009 payment that depends neither on the time nor on the chain, at the cost of one signature recovery.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
function checkEip3009(
  payment: Eip3009Payment,
  { required: { payTo, amount }, asset }: Terms,
  { isSigned, contracts }: Pick<Transfers, "isSigned" | "contracts">,
): SignedPayment | Refusal {
  const authorization = parseAuthorization(payment);
  const { signature } = payment;
  return (
    refuseTransfer(authorization, { payTo, amount }) ??
    toSignedPayment({ authorization, signature, payTo, amount }, { asset, isSigned, contracts })
  );
}

function parseAuthorization({ authorization }: Eip3009Payment): Authorization {
  const { from, to, nonce } = authorization;
  const number = (field: "value" | "validAfter" | "validBefore") => {
    try {
      return parsePart(decimalUint256, authorization[field], `authorization.${field}`);
    } catch (error) {
      if (error instanceof MalformedPaymentError) throw error.within(`${paths.payment}.payload`);
      throw error;
    }
  };
  const [value, validAfter, validBefore] = [number("value"), number("validAfter"), number("validBefore")];
  return { from, to, value, validAfter, validBefore, nonce };
}

function refuseTransfer(
  { to, value }: Authorization,
  { payTo, amount }: Pick<Terms["required"], "payTo" | "amount">,
): Refusal | undefined {
  if (to.toLowerCase() !== payTo.toLowerCase()) {
    return {
      reason: reason.recipient,
      message: `the authorization pays ${to}, but the requirements specify ${payTo}.`,
    };
  }
  if (value !== amount) {
    return {
      reason: reason.value,
      message: `the authorization is for ${value}, but the requirements specify exactly ${amount}.`,
    };
  }
  return undefined;
}
