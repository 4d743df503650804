import { z } from "zod";
import { fields } from "../fields.ts";
import type { ReportedResult, SettleResult } from "../payment-result.ts";
import type { Hex } from "../hex.ts";
import type { Rejection } from "../reason.ts";
import type { Transfers } from "../scheme.ts";
import { readChannelState, type ChannelState } from "./channel.ts";
import type { SignedVoucher } from "./voucher.ts";

/**
 * How long a channel's cached state is used. Only its seller can claim. Until 15 minutes after the payer's withdrawal request, only its
 * seller can lower the balance, and a channel with such a request is read each time. So a verdict can be outdated only for a seller that
 * also settles elsewhere.
 */
const stateFreshMs = 60_000;

/** How long a channel's state is not cached after a settlement that is still pending. */
const pendingMs = 600_000;

const statesMax = 100_000;

export type ChannelStates = ReturnType<typeof createChannelStates>;

export function createChannelStates() {
  const known = new Map<string, Readonly<{ state: ChannelState; atMs: number }>>();
  const pendingUntilMs = new Map<string, number>();
  let changes = 0;
  const refresh = async (channelId: Hex, { read, clock }: Transfers): Promise<ChannelState> => {
    const [atMs, changesBefore] = [clock(), changes];
    const id = channelId.toLowerCase();
    const state = await readChannelState(channelId, read);
    // Responses may arrive out of order: this state may have been read earlier, or before a change.
    if (changes !== changesBefore || (known.get(id)?.atMs ?? 0) > atMs) return state;
    if ((pendingUntilMs.get(id) ?? 0) > atMs) return state;
    known.delete(id);
    if (state.balance > 0n && state.withdrawRequestedAt === 0) known.set(id, { state, atMs });
    if (known.size > statesMax) known.delete(known.keys().next().value ?? "");
    return state;
  };
  return {
    refresh,
    /** Runs a settlement that may change channels' states; states read before it completes are discarded. */
    change: async (
      channelIds: readonly Hex[],
      { clock }: Pick<Transfers, "clock">,
      settle: () => Promise<ReportedResult<SettleResult>>,
    ): Promise<ReportedResult<SettleResult>> => {
      const ids = channelIds.map((id) => id.toLowerCase());
      try {
        const answered = await settle();
        for (const id of ids) pendingUntilMs.delete(id);
        if (answered.result.state === "pending") for (const id of ids) pendingUntilMs.set(id, clock() + pendingMs);
        return answered;
      } finally {
        changes += 1;
        for (const id of ids) known.delete(id);
        while (pendingUntilMs.size > statesMax) pendingUntilMs.delete(pendingUntilMs.keys().next().value ?? "");
      }
    },
    /**
     * Adds a channel's state to a settlement's response. If the chain can't be read, a completed settlement is reported as pending: an
     * error would imply that nothing was settled, and the caller needs the state, so it must retry.
     */
    report: async (
      answered: ReportedResult<SettleResult>,
      { channelId, amount: moved }: Readonly<{ channelId: Hex; amount: bigint }>,
      transfers: Transfers,
    ): Promise<ReportedResult<SettleResult>> => {
      const { result: answer } = answered;
      if (answer.state !== "settled") return answered;
      const [read] = await Promise.allSettled([refresh(channelId, transfers)]);
      if (read.status === "rejected")
        return { ...answered, result: { state: "pending", transaction: answer.transaction } };
      const extra = { channelState: formatState(channelId, read.value) };
      return { ...answered, reported: { amount: String(moved), extra } };
    },
    /**
     * Checks a voucher against the cached state. Reads the chain only if no state is cached, if the cached one does not cover the voucher,
     * or for a refund, because another replica may have settled a deposit since.
     */
    judge: async (
      { channelId, isRefund }: SignedVoucher,
      transfers: Transfers,
      reject: (state: ChannelState) => Rejection | undefined,
    ): Promise<ChannelState | Rejection> => {
      const last = known.get(channelId.toLowerCase());
      const ageMs = last === undefined ? stateFreshMs : transfers.clock() - last.atMs;
      if (last !== undefined && !isRefund && ageMs >= 0 && ageMs < stateFreshMs && reject(last.state) === undefined)
        return last.state;
      const state = await refresh(channelId, transfers);
      return reject(state) ?? state;
    },
  };
}

export function formatState(
  channelId: Hex,
  { balance, totalClaimed, withdrawRequestedAt, refundNonce }: ChannelState,
): Record<string, unknown> {
  const amounts = { balance: String(balance), totalClaimed: String(totalClaimed) };
  return { channelId, ...amounts, withdrawRequestedAt, refundNonce: String(refundNonce) };
}

const amount = fields.seller.number.transform(BigInt);
const reported = z
  .object({
    balance: amount,
    totalClaimed: amount,
    withdrawRequestedAt: z.coerce.number().int().min(0),
    refundNonce: z.coerce.string().pipe(amount),
  })
  .optional()
  .catch(undefined);

/** Parses the state of a channel from a facilitator; undefined if it reports none. */
export function readReportedState(extra: unknown): ChannelState | undefined {
  return reported.parse(extra);
}
