import { decimalUint256, paths } from "../fields.ts";
import { MalformedPaymentError, parsePart } from "../malformed-payment-error.ts";
import { reason, type Refusal } from "../reason.ts";
import type { Transfers } from "../scheme.ts";
import { toSignedPayment, type SignedPayment } from "../signed-payment.ts";
import type { Terms } from "../terms.ts";
import type { Authorization } from "../typed-data.ts";
import type { Eip3009Payment } from "./payload.ts";

/**
 * Checks everything about an EIP-3009 payment that depends neither on the time nor on the chain, at the cost of one signature recovery.
 *
 * @throws {MalformedPaymentError} with the path of the first invalid field.
 */
export function checkEip3009(
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
