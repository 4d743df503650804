import type { PaymentRequirements } from "@x402/core/types";
import { rememberLast } from "#daemon/memoize.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import type { Facilitation, SupportedKinds } from "../facilitators/facilitation.ts";
import { settleChannelPayment, type Settle } from "./channel-settlement.ts";
import { readChannelPayment, type ChannelParts } from "./channel-terms.ts";
import { verifyChannelPayment } from "./channel-verdict.ts";

/** Adds payment through channels: vouchers are verified and charged here, all else by `facilitation`. May also throw `StoreError`. */
export function facilitateChannels(facilitation: Facilitation, parts: ChannelParts): Facilitation {
  const { authorizer, withdrawDelaySeconds: withdrawDelay } = parts;
  const terms = { receiverAuthorizer: authorizer.address, withdrawDelay };
  const completeKinds = rememberLast((kinds: SupportedKinds["kinds"]) =>
    kinds.map((kind) => (isChannel(kind) ? { ...kind, extra: { ...kind.extra, ...terms } } : kind)),
  );
  return {
    ...facilitation,
    verify(payment, requirements, request) {
      const ask = () => facilitation.verify(payment, requirements, request);
      return isChannel(requirements)
        ? verifyChannelPayment(readChannelPayment(payment, requirements), parts, ask)
        : ask();
    },
    settle(payment, requirements, sale, request) {
      const settle: Settle = (sent, required) => facilitation.settle(sent, required, sale, request);
      return isChannel(requirements)
        ? settleChannelPayment(readChannelPayment(payment, requirements), parts, sale, settle)
        : settle(payment, requirements);
    },
    settlesInLedger: ({ accepted, payload }) => isChannel(accepted) && payload["type"] === "voucher",
    supported() {
      const { kinds, ...supported } = facilitation.supported();
      return { ...supported, kinds: completeKinds(kinds) };
    },
  };
}

function isChannel({ scheme }: Pick<PaymentRequirements, "scheme">): boolean {
  return scheme === batchSettlement.name;
}
