import type { PaymentRequirements, VerifyResponse } from "@x402/core/types";
import { rememberLast } from "#daemon/memoize.ts";
import { batchSettlement } from "#x402/batch-settlement.ts";
import { formatState, readReportedState } from "#x402/batch-settlement/channel-states.ts";
import { checkVoucher, rejectConfig, rejectState } from "#x402/batch-settlement/voucher.ts";
import { zeroAddress } from "#x402/hex.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import { keysOnly } from "#x402/terms.ts";
import type { Channel } from "../claims/channel-ledger.ts";
import type { Facilitation, SupportedKinds } from "../facilitators/facilitation.ts";
import { settleChannelPayment, type Settle } from "./channel-settlement.ts";
import {
  computeClaimableUntilMs,
  deductRefund,
  formatCharged,
  readChannelPayment,
  type ChannelParts,
  type ChannelPayment,
} from "./channel-terms.ts";

/**
 * Adds payment through channels: vouchers are verified and charged here, everything else by `facilitation`. May also throw `StoreError`.
 */
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
      const { kinds, ...otherSupport } = facilitation.supported();
      return { ...otherSupport, kinds: completeKinds(kinds) };
    },
  };
}

function isChannel({ scheme }: Pick<PaymentRequirements, "scheme">): boolean {
  return scheme === batchSettlement.name;
}

/** Max time for which a cached channel state is used; a third of the withdrawal delay if that is less. */
const stateFreshMsMax = 300_000;

/**
 * Verifies a payment through a channel: its total must be what this seller has charged so far plus the price (specification, "Request
 * Processing"). A voucher signed by a key needs no facilitator while the channel's state is fresh; `ask` requests its verdict.
 *
 * @throws {FacilitationError | StoreError} when the facilitator or the ledger fails.
 */
async function verifyChannelPayment(
  { read, id, requirements }: ChannelPayment,
  { ledger, clock, withdrawDelaySeconds }: ChannelParts,
  ask: () => Promise<VerifyResponse>,
): Promise<VerifyResponse> {
  const { channelConfig: config, voucher, type } = read;
  const { payer } = config;
  const isRefund = type === "refund";
  const price = isRefund ? 0n : BigInt(requirements.amount);
  const rejection = rejectConfig({ config, voucher }, requirements);
  if (rejection !== undefined) return rejectVerdict(rejection, payer);
  const knownChannel = await ledger.find(id);
  if (knownChannel?.isRejected === true && !isRefund) return rejectVerdict(rejectedClaims, payer);
  if (config.payerAuthorizer !== zeroAddress) {
    const judgedVoucher = await checkVoucher({ config, voucher, isRefund }, requirements, keysOnly);
    if ("reason" in judgedVoucher) return rejectVerdict(judgedVoucher, payer);
    // A buyer that states a higher total than this ledger may be right, so the chain decides.
    if (knownChannel !== undefined && judgedVoucher.max < knownChannel.charged + price)
      return rejectTotal(knownChannel, payer);
    const freshMs = Math.min(stateFreshMsMax, (withdrawDelaySeconds * 1_000) / 3);
    const ageMs = knownChannel === undefined ? freshMs : Math.abs(clock() - knownChannel.syncedAtMs);
    const isCounted = knownChannel !== undefined && judgedVoucher.max === knownChannel.charged + price;
    if (type === "voucher" && isCounted && knownChannel.state.withdrawRequestedAt === 0 && ageMs < freshMs) {
      if (rejectState(judgedVoucher, deductRefund(knownChannel, knownChannel.state)) === undefined)
        return { isValid: true, payer, extra: formatState(id, knownChannel.state) };
    }
  }
  const verdict = await ask();
  if (!verdict.isValid) return verdict;
  const state = readReportedState(verdict.extra);
  if (state === undefined) return rejectVerdict(missingState, payer);
  // The deposit of an unknown channel may never be made, so nothing is recorded before its settlement.
  const isOpen = type === "voucher" || knownChannel !== undefined;
  const { network } = requirements;
  const channel = isOpen
    ? await ledger.observe({ id, config, network }, state)
    : { id, charged: state.totalClaimed, voucher: undefined, state, refund: undefined };
  const { maxClaimableAmount: max } = voucher;
  if (max !== channel.charged + price) return rejectTotal(channel, payer);
  if (isRefund) return verdict;
  const added = type === "deposit" ? read.deposit.amount : 0n;
  const stateRejection = rejectState({ channelId: id, max, isRefund, added }, deductRefund(channel, state));
  if (stateRejection !== undefined) return rejectVerdict(stateRejection, payer);
  const isWithdrawn = clock() > computeClaimableUntilMs(state, withdrawDelaySeconds);
  return isWithdrawn ? rejectVerdict(withdrawn, payer) : verdict;
}

const missingState = { reason: reason.channelState, message: "the facilitator does not report the channel's state." };
const buildFinalError = (why: string) => ({
  reason: reason.voucherAboveBalance,
  message: `${why}; pay through another channel.`,
});
const withdrawn = buildFinalError("the payer withdraws the channel's balance");
const rejectedClaims = buildFinalError("the chain rejects the claims of this channel");

function rejectVerdict({ reason: invalidReason, message: invalidMessage }: Rejection, payer: string): VerifyResponse {
  return { isValid: false, invalidReason, invalidMessage, payer };
}

/** Rejects a payment that states a wrong total, and includes the data that its buyer needs for the next one (specification, "Corrective 402"). */
function rejectTotal(
  { id, charged, voucher, state }: Pick<Channel, "id" | "charged" | "voucher" | "state">,
  payer: string,
): VerifyResponse {
  const message = `the channel was charged ${charged} in total, to which a voucher must add the price.`;
  const voucherState = voucher && { signedMaxClaimable: String(voucher.max), signature: voucher.signature };
  const extra = { channelState: formatCharged(id, state, charged), ...(voucherState && { voucherState }) };
  return { ...rejectVerdict({ reason: reason.channelTotal, message }, payer), extra };
}
