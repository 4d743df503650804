import type { Hex } from "../hex.ts";
import type { Refusal } from "../reason.ts";
import type { Transfers } from "../scheme.ts";
import { readChannelState, type ChannelState } from "./channel.ts";
import type { Vouched } from "./voucher.ts";

/**
 * Time for which a channel's state needs no reading. Only its seller can lower the balance sooner than 15 minutes after the payer asked for
 * a withdrawal, and a channel with such a request is read each time.
 */
const stateFreshMs = 60_000;

const statesMax = 100_000;

/** States of channels on the chain, as last read. */
export type ChannelStates = Readonly<{
  /** Judges a voucher by the known state, and reads the chain only if none is known, or the known one would not do. */
  judge: (
    voucher: Vouched,
    transfers: Transfers,
    refuse: (state: ChannelState) => Refusal | undefined,
  ) => Promise<ChannelState | Refusal>;
  /** Reads the state. */
  refresh: (channelId: Hex, transfers: Transfers) => Promise<ChannelState>;
}>;

/** Creates the states, initially unknown. */
export function createChannelStates(): ChannelStates {
  const known = new Map<string, Readonly<{ state: ChannelState; atMs: number }>>();
  const refresh: ChannelStates["refresh"] = async (channelId, { read, clock }) => {
    const atMs = clock();
    const id = channelId.toLowerCase();
    const state = await readChannelState(channelId, read);
    known.delete(id);
    if (state.balance > 0n && state.withdrawRequestedAt === 0) known.set(id, { state, atMs });
    if (known.size > statesMax) known.delete(known.keys().next().value ?? "");
    return state;
  };
  return {
    refresh,
    judge: async ({ channelId }, transfers, refuse) => {
      const last = known.get(channelId.toLowerCase());
      const ageMs = last === undefined ? stateFreshMs : transfers.clock() - last.atMs;
      if (last !== undefined && ageMs >= 0 && ageMs < stateFreshMs && refuse(last.state) === undefined)
        return last.state;
      const state = await refresh(channelId, transfers);
      return refuse(state) ?? state;
    },
  };
}

/** Tells the state of a channel as the specification has it. */
export function tellState(
  channelId: Hex,
  { balance, totalClaimed, withdrawRequestedAt, refundNonce }: ChannelState,
): Record<string, unknown> {
  const amounts = { balance: String(balance), totalClaimed: String(totalClaimed) };
  return { channelId, ...amounts, withdrawRequestedAt, refundNonce: String(refundNonce) };
}
