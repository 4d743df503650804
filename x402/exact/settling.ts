import type { Answered } from "../answer.ts";
import { isRefusal, reason, type Refusal } from "../reason.ts";
import type { Order, Settling, Transfers } from "../scheme.ts";
import { toSignedPayment, type SignedPayment } from "../signed-payment.ts";
import type { ExactPayment } from "./payload.ts";
import { judgeTerms } from "./terms.ts";
import { readTransfer } from "./transfer.ts";

/** Settlement of scheme `exact` with EIP-3009. */
export const settleExact: Settling<ExactPayment> = {
  refusePayload(payload) {
    if (!("permit2Authorization" in payload)) return undefined;
    const message = "Permit2 payments are not settled here; pay by EIP-3009 (transferWithAuthorization).";
    return { reason: reason.payloadType, message };
  },
  async verify(order, transfers) {
    const judged = judge(order, transfers);
    return "answer" in judged ? judged : transfers.verify(judged);
  },
  async settle(order, transfers) {
    const judged = judge(order, transfers);
    return "answer" in judged ? judged : transfers.settle(judged);
  },
};

type Refused = Answered<{ state: "refused"; refusal: Refusal }>;

/** Checks everything about a payment that depends neither on the time nor on the chain, at the cost of one signature recovery. */
function judge(
  { payment, requirements, accepted }: Order<ExactPayment>,
  { assets, isSigned }: Pick<Transfers, "assets" | "isSigned">,
): SignedPayment | Refused {
  const transfer = readTransfer(payment, requirements, accepted);
  const { authorization, signature } = transfer;
  const { payTo, amount } = transfer.requirements;
  const asset = judgeTerms(transfer, assets);
  const judged = isRefusal(asset)
    ? asset
    : toSignedPayment({ authorization, signature, payTo, amount }, { asset, isSigned });
  if (!isRefusal(judged)) return judged;
  return { answer: { state: "refused", refusal: judged }, payer: authorization.from };
}
