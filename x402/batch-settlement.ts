import { channelPayload, type ChannelPayload } from "./batch-settlement/payload.ts";
import { parsePart } from "./malformed-payment-error.ts";
import type { SettledScheme } from "./scheme.ts";

/**
 * Scheme `batch-settlement`: a deposit into a channel, then vouchers of cumulative amounts, which the seller keeps, and claims and settles
 * through the facilitator when it chooses. Our own sellers and buyers don't use it yet.
 */
export const batchSettlement: SettledScheme<ChannelPayload> = {
  name: "batch-settlement",
  read: (payload) => parsePart(channelPayload, payload, ""),
  settling: async () => (await import("./batch-settlement/settling.ts")).createChannelSettling(),
};
