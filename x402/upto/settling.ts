import { refuse, type Refused } from "../answer.ts";
import { checkPermit2, namePermit2Reasons } from "../permit2-terms.ts";
import type { Permit2Payment } from "../transfer-payload.ts";
import { permit2Address, permit2Proxies } from "../permit2.ts";
import { isRefusal } from "../reason.ts";
import type { Order, Settling, Transfers } from "../scheme.ts";
import type { SignedPayment } from "../signed-payment.ts";
import { checkTerms } from "../terms.ts";

/**
 * Settlement of scheme `upto`. The required amount is the permitted maximum in `verify`, and the amount used in `settle`; an amount of zero
 * needs no transaction.
 */
export const settleUpto: Settling<Permit2Payment> = {
  refusePayload: () => undefined,
  kinds: ({ contracts, signer }) =>
    [permit2Address, permit2Proxies.upto].every((contract) => contracts.has(contract.toLowerCase()))
      ? [{ facilitatorAddress: signer }]
      : [],
  async verify(order, transfers) {
    const judged = check(order, transfers, { isMax: false });
    if ("answer" in judged) return judged;
    return namePermit2Reasons(await transfers.verify(judged));
  },
  async settle(order, transfers) {
    const judged = check(order, transfers, { isMax: true });
    if ("answer" in judged) return judged;
    const answered = judged.amount === 0n ? await transfers.settleNothing(judged) : await transfers.settle(judged);
    return { ...namePermit2Reasons(answered), reportsAmount: true };
  },
};

/** Checks everything about a payment that depends neither on the time nor on the chain. */
function check(
  order: Order<Permit2Payment>,
  transfers: Transfers,
  { isMax }: Readonly<{ isMax: boolean }>,
): SignedPayment | Refused {
  const { payment, extensions } = order;
  const terms = checkTerms(order, transfers.assets, { isMax });
  const payer = payment.permit2Authorization.from;
  if (isRefusal(terms)) return refuse(terms, payer);
  const judged = checkPermit2({ payment, scheme: "upto", terms, extensions, isMax }, transfers);
  return isRefusal(judged) ? refuse(terms.unserved ?? judged, payer) : { ...judged, unserved: terms.unserved };
}
