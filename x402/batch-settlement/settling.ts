import { nameReasons, type Answered, type SettleAnswer } from "../answer.ts";
import { listContracts, canonicalContracts } from "../contracts.ts";
import { reason, type Refusal } from "../reason.ts";
import type { Order, Settling, Transfers } from "../scheme.ts";
import { createChannelStates, tellState, type ChannelStates } from "./channel-states.ts";
import { judgeDeposit } from "./deposit.ts";
import type { ChannelPayload } from "./payload.ts";
import { claimVouchers, refundChannel, settleClaimed } from "./seller-calls.ts";
import { judgeVoucher, refuse, refuseConfig, refuseState, type Vouched } from "./voucher.ts";

const types = new Set(["deposit", "voucher", "refund", "claim", "settle"]);

/** Order of one type of payload. */
type ChannelOrder<Type extends ChannelPayload["type"]> = Order<Extract<ChannelPayload, { type: Type }>>;

/**
 * Creates the settlement of scheme `batch-settlement`. Vouchers are verified only: their seller keeps them, and later has them claimed. No
 * receiver's authorizer is offered, so that each claim and each refund has the signature of its seller.
 */
export function createChannelSettling(): Settling<ChannelPayload> {
  const states = createChannelStates();
  return {
    // Listed once our own sellers and buyers use channels: a seller that finds the kind listed would offer it.
    kinds: () => [],
    refusePayload: ({ type }) =>
      types.has(String(type))
        ? undefined
        : { reason: reason.channelPayload, message: `payload.type must be one of ${[...types].join(", ")}.` },
    async verify(order, transfers) {
      const { payment } = order;
      if (payment.type === "claim" || payment.type === "settle") {
        const message = `a ${payment.type} is not verified; send it to /settle.`;
        return refuse({ reason: reason.channelPayload, message }, undefined);
      }
      const { payer } = payment.channelConfig;
      const voucher = await judgeOrder({ ...order, payment }, transfers);
      if ("reason" in voucher) return refuse(voucher, payer);
      if (payment.type !== "deposit") {
        const state = await states.judge(voucher, transfers, (now) => refuseState(voucher, now));
        if ("reason" in state) return refuse(state, payer);
        return { answer: { state: "valid" }, payer, told: { extra: tellState(voucher.channelId, state) } };
      }
      const deposit = judgeDeposit({ ...order, payment }, voucher, transfers);
      if ("reason" in deposit) return refuse(deposit, payer);
      const state = await states.refresh(voucher.channelId, transfers);
      const refusal = refuseState({ ...voucher, added: deposit.payment.amount }, state);
      if (refusal !== undefined) return refuse(refusal, payer);
      const answered = nameReasons(await transfers.verify(deposit.payment), deposit.names);
      return answered.answer.state === "valid"
        ? { ...answered, told: { extra: tellState(voucher.channelId, state) } }
        : answered;
    },
    async settle(order, transfers) {
      const { payment } = order;
      if (!hasContracts(transfers.contracts)) return refuse(missing, undefined);
      switch (payment.type) {
        case "deposit":
          return settleDeposit({ ...order, payment }, transfers, states);
        case "claim":
          return claimVouchers({ ...order, payment }, transfers);
        case "settle":
          return settleClaimed({ ...order, payment }, transfers);
        case "refund":
          return refundChannel({ ...order, payment }, transfers, states);
        case "voucher": {
          const message =
            "a voucher is kept by its seller, and later claimed; only deposits, claims and refunds are settled.";
          return refuse({ reason: reason.channelPayload, message }, payment.channelConfig.payer);
        }
      }
    },
  };
}

function hasContracts(contracts: ReadonlySet<string>): boolean {
  return listContracts("batch-settlement").every((id) => contracts.has(canonicalContracts[id].address.toLowerCase()));
}

const missing: Refusal = {
  reason: reason.channelUnknown,
  message: "this chain lacks contracts of batch-settlement; `gatehouse contracts check` lists them.",
};

/** Checks the channel's terms, its payee and its voucher; the state of the channel comes later. */
async function judgeOrder(
  { payment, requirements }: ChannelOrder<"deposit" | "voucher" | "refund">,
  transfers: Transfers,
): Promise<Vouched | Refusal> {
  if (!hasContracts(transfers.contracts)) return missing;
  const { channelConfig: config, voucher, type } = payment;
  const refusal = refuseConfig({ config, voucher }, requirements) ?? transfers.refusePayee(config.receiver);
  return refusal ?? judgeVoucher({ config, voucher, isRefund: type === "refund" }, requirements, transfers);
}

async function settleDeposit(
  order: ChannelOrder<"deposit">,
  transfers: Transfers,
  states: ChannelStates,
): Promise<Answered<SettleAnswer>> {
  const { payer } = order.payment.channelConfig;
  const voucher = await judgeOrder(order, transfers);
  if ("reason" in voucher) return refuse(voucher, payer);
  const deposit = judgeDeposit(order, voucher, transfers);
  if ("reason" in deposit) return refuse(deposit, payer);
  const before = await states.refresh(voucher.channelId, transfers);
  const refusal = refuseState({ ...voucher, added: deposit.payment.amount }, before);
  if (refusal !== undefined) return refuse(refusal, payer);
  const answered = nameReasons(await transfers.settle(deposit.payment), deposit.names);
  if (answered.answer.state !== "settled") return answered;
  const state = await states.refresh(voucher.channelId, transfers);
  const extra = { channelState: tellState(voucher.channelId, state) };
  return { ...answered, told: { amount: String(deposit.payment.amount), extra } };
}
