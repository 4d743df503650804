import { nameReasons, type ReportedResult, type SettleResult, reject } from "../payment-result.ts";
import { listContracts, canonicalContracts, type KnownContracts } from "../contracts.ts";
import { reason, type Rejection } from "../reason.ts";
import type { Order, Settling, Transfers } from "../scheme.ts";
import { keysOnly } from "../terms.ts";
import { createChannelStates, formatState, type ChannelStates } from "./channel-states.ts";
import { buildDepositKey } from "./channel.ts";
import { checkDeposit } from "./deposit.ts";
import type { ChannelPayload } from "./payload.ts";
import { claimVouchers, refundChannel, rejectAsset, settleClaimed } from "./seller-calls.ts";
import { checkVoucher, rejectConfig, rejectState, type SignedVoucher } from "./voucher.ts";

const types = new Set(["deposit", "voucher", "refund", "claim", "settle"]);

type ChannelOrder<Type extends ChannelPayload["type"]> = Order<Extract<ChannelPayload, { type: Type }>>;

/**
 * Creates the settlement of scheme `batch-settlement`. Vouchers are only verified: the seller keeps them and claims them later. The
 * facilitator offers no receiver authorizer, so each claim and refund is signed by its seller.
 */
export function createChannelSettling(): Settling<ChannelPayload> {
  const states = createChannelStates();
  return {
    kinds: ({ contracts }) => (hasContracts(contracts) ? [{}] : []),
    rejectPayload: ({ type }) =>
      types.has(String(type))
        ? undefined
        : { reason: reason.channelPayload, message: `payload.type must be one of ${[...types].join(", ")}.` },
    async isSignedByKey({ payment, ...order }) {
      if (!("voucher" in payment)) return false;
      const { channelConfig: config, voucher, type } = payment;
      const judged = await checkVoucher({ config, voucher, isRefund: type === "refund" }, order.requirements, keysOnly);
      if ("reason" in judged) return false;
      if (type !== "deposit") return true;
      const deposit = checkDeposit({ ...order, payment }, judged, keysOnly);
      return !("reason" in deposit) && deposit.payment.walletSignature === undefined;
    },
    async verify(order, transfers) {
      const { payment } = order;
      if (payment.type === "claim" || payment.type === "settle") {
        const message = `a ${payment.type} can't be verified; send it to /settle.`;
        return reject({ reason: reason.channelPayload, message }, undefined);
      }
      const { payer } = payment.channelConfig;
      const voucher = await checkOrder({ ...order, payment }, transfers);
      if ("reason" in voucher) return reject(voucher, payer);
      if (payment.type !== "deposit") {
        const state = await states.judge(voucher, transfers, (now) => rejectState(voucher, now));
        if ("reason" in state) return reject(state, payer);
        const refund = { asset: payment.channelConfig.token, claimed: voucher.max, refunds: state.refundNonce };
        const unpaid = voucher.isRefund ? transfers.rejectRefund(refund) : undefined;
        if (unpaid !== undefined) return reject(unpaid, payer);
        return { result: { state: "valid" }, payer, reported: { extra: formatState(voucher.channelId, state) } };
      }
      const deposit = checkDeposit({ ...order, payment }, voucher, transfers);
      if ("reason" in deposit) return reject(deposit, payer);
      const { id, amount, unserved } = deposit.payment;
      if (unserved !== undefined && (await transfers.progress(id)) === undefined) return reject(unserved, payer);
      const state = await states.refresh(voucher.channelId, transfers);
      const rejection = rejectState({ ...voucher, added: amount }, state);
      if (rejection !== undefined) return reject(rejection, payer);
      const answered = nameReasons(await transfers.verify(deposit.payment), deposit.names);
      return answered.result.state === "valid"
        ? { ...answered, reported: { extra: formatState(voucher.channelId, state) } }
        : answered;
    },
    async settle(order, transfers) {
      const { payment } = order;
      if (!hasContracts(transfers.contracts)) return reject(missing, undefined);
      switch (payment.type) {
        case "deposit":
          return settleDeposit({ ...order, payment }, transfers, states);
        case "claim":
          return claimVouchers({ ...order, payment }, transfers, states);
        case "settle":
          return settleClaimed({ ...order, payment }, transfers);
        case "refund":
          return refundChannel({ ...order, payment }, transfers, states);
        case "voucher": {
          const message =
            "a voucher is kept by its seller, and later claimed; only deposits, claims and refunds are settled.";
          return reject({ reason: reason.channelPayload, message }, payment.channelConfig.payer);
        }
      }
    },
  };
}

function hasContracts(contracts: KnownContracts): boolean {
  return listContracts("batch-settlement").every((id) => contracts.has(canonicalContracts[id].address.toLowerCase()));
}

const missing: Rejection = {
  reason: reason.channelUnknown,
  message: "this chain lacks contracts of batch-settlement; `gatehouse contracts check` lists them.",
};

/** Checks the channel's terms, token, payee and voucher; its state is checked later. */
async function checkOrder(
  { payment, requirements }: ChannelOrder<"deposit" | "voucher" | "refund">,
  transfers: Transfers,
): Promise<SignedVoucher | Rejection> {
  if (!hasContracts(transfers.contracts)) return missing;
  const { channelConfig: config, voucher, type } = payment;
  const terms = {
    asset: config.token,
    payTo: config.receiver,
    unserved: type === "deposit" ? undefined : rejectAsset(requirements, transfers),
    ...(type === "refund" && { deposits: [buildDepositKey(config)] }),
  };
  const rejection = rejectConfig({ config, voucher }, requirements) ?? (await transfers.rejectTerms(terms));
  return rejection ?? checkVoucher({ config, voucher, isRefund: type === "refund" }, requirements, transfers);
}

async function settleDeposit(
  order: ChannelOrder<"deposit">,
  transfers: Transfers,
  states: ChannelStates,
): Promise<ReportedResult<SettleResult>> {
  const { channelConfig, voucher } = order.payment;
  const { payer } = channelConfig;
  const wrong = rejectConfig({ config: channelConfig, voucher }, order.requirements);
  if (wrong !== undefined) return reject(wrong, payer);
  const { channelId } = voucher;
  const deposit = checkDeposit(order, { channelId }, transfers);
  if ("reason" in deposit) return reject(deposit, payer);
  const { id, amount, unserved } = deposit.payment;
  // A deposit already in progress skips the checks: its wallet may now reject the voucher, or a claim may have changed its channel.
  const isBegun = async () => (await transfers.progress(id)) !== undefined;
  const [checked] = (await isBegun())
    ? []
    : await Promise.allSettled([unserved ?? rejectDeposit(order, amount, transfers, states)]);
  const hasFailed = checked !== undefined && (checked.status === "rejected" || checked.value !== undefined);
  // A copy may have started in the meantime.
  if (hasFailed && !(await isBegun())) {
    if (checked.status === "rejected") throw checked.reason;
    if (checked.value !== undefined) return reject(checked.value, payer);
  }
  const settle = () => transfers.settle(deposit.payment);
  const answered = nameReasons(await states.change([channelId], transfers, settle), deposit.names);
  return states.report(answered, { channelId, amount }, transfers);
}

/** Returns why a new deposit is not made: because of its voucher or the channel's state. */
async function rejectDeposit(
  order: ChannelOrder<"deposit">,
  added: bigint,
  transfers: Transfers,
  states: ChannelStates,
): Promise<Rejection | undefined> {
  const voucher = await checkOrder(order, transfers);
  if ("reason" in voucher) return voucher;
  return rejectState({ ...voucher, added }, await states.refresh(voucher.channelId, transfers));
}
