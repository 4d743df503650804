import type { PaymentRequirements } from "@x402/core/types";
import { rememberLast } from "#daemon/memoize.ts";
import { createBoundedLog } from "#daemon/log/bounded-log.ts";
import type { Logger } from "#daemon/log/log.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import type { Facilitation, SupportedKinds } from "../facilitators/facilitation.ts";
import type { ChannelAuthorizer } from "./channel-authorizer.ts";
import type { ChannelLedger } from "../claims/channel-ledger.ts";
import { settleChannelPayment } from "./channel-settlement.ts";
import { readChannelPayment } from "./channel-terms.ts";
import { verifyChannelPayment } from "./channel-verdict.ts";

/** Dependencies of a seller's channels. `clock` returns Unix time in milliseconds. */
export type ChannelDependencies = Readonly<{
  ledger: ChannelLedger;
  authorizer: ChannelAuthorizer;
  clock: () => number;
  withdrawDelaySeconds: number;
  log: Logger;
}>;

/**
 * Adds payment through channels (scheme `batch-settlement`) to a facilitation: vouchers are verified and charged here, everything else by
 * the given facilitation. Its methods may also throw `StoreError`.
 */
export function facilitateChannels(facilitation: Facilitation, dependencies: ChannelDependencies): Facilitation {
  const { authorizer, withdrawDelaySeconds: withdrawDelay } = dependencies;
  const ledger = reportOtherClaims(dependencies);
  const terms = { receiverAuthorizer: authorizer.address, withdrawDelay };
  const completeKinds = rememberLast((kinds: SupportedKinds["kinds"]) =>
    kinds.map((kind) => (isChannel(kind) ? { ...kind, extra: { ...kind.extra, ...terms } } : kind)),
  );
  return {
    ...facilitation,
    verify(payment, requirements, request) {
      const ask = () => facilitation.verify(payment, requirements, request);
      if (!isChannel(requirements)) return ask();
      return verifyChannelPayment(readChannelPayment(payment, requirements), { ...dependencies, ledger, ask });
    },
    settle(payment, requirements, sale, request) {
      if (!isChannel(requirements)) return facilitation.settle(payment, requirements, sale, request);
      return settleChannelPayment(readChannelPayment(payment, requirements), {
        ...dependencies,
        ledger,
        sale,
        settle: (sent, required) => facilitation.settle(sent, required, sale, request),
      });
    },
    settlesInLedger: ({ accepted, payload }) => isChannel(accepted) && payload["type"] === "voucher",
    supported() {
      const { kinds, ...supported } = facilitation.supported();
      return { ...supported, kinds: completeKinds(kinds) };
    },
  };
}

/**
 * Reports claims that are missing from this ledger. Vouchers accepted by another ledger with the same key are invisible here until they are
 * claimed.
 */
function reportOtherClaims({ ledger, log }: Pick<ChannelDependencies, "ledger" | "log">): ChannelLedger {
  const lines = createBoundedLog(log);
  return {
    ...ledger,
    async observe(channel, state) {
      const known = await ledger.find(channel.id);
      if (known !== undefined && state.totalClaimed > known.charged) {
        const facts = { channel: channel.id, charged: String(known.charged), claimed: String(state.totalClaimed) };
        lines.error(
          { event: "channel-claimed-elsewhere", ...facts },
          "the chain claimed more than this ledger charged",
        );
      }
      return ledger.observe(channel, state);
    },
  };
}

function isChannel({ scheme }: Pick<PaymentRequirements, "scheme">): boolean {
  return scheme === batchSettlement.name;
}
