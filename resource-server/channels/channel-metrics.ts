import type { SettleResponse } from "@x402/core/types";
import { Counter, Gauge, type Registry } from "prom-client";

export type ChannelMetrics = ReturnType<typeof createChannelMetrics>;

export type UnclaimedAmount = Readonly<{ network: string; token: string; amount: bigint }>;

type MeteredChannel = Readonly<{ network: string; config: Readonly<{ token: string }> }>;

export function createChannelMetrics(registry: Registry) {
  const registers = [registry];
  const channels = new Gauge({
    name: "gatehouse_channels",
    help: "Payment channels in the ledger; channels that are claimed and idle for ledger.retentionSeconds are deleted.",
    registers,
  });
  const unclaimedUnits = new Gauge({
    name: "gatehouse_channels_unclaimed_units",
    help: "Amount charged through payment channels and not yet claimed, in the token's smallest units.",
    labelNames: ["network", "token"],
    registers,
  });
  const claims = new Counter({
    name: "gatehouse_channel_claims_total",
    help: "Claims of payment channels, by result: claimed, rejected, or unknown if the facilitator gave no outcome.",
    labelNames: ["result"],
    registers,
  });
  return {
    countClaim: (response: SettleResponse | undefined): void =>
      claims.inc({ result: response === undefined ? "unknown" : response.success ? "claimed" : "rejected" }),
    /** Adds a charge, or a claim if negative; valid until the next {@link setChannels}. */
    addUnclaimed: ({ network, config }: MeteredChannel, amount: bigint): void =>
      unclaimedUnits.inc({ network, token: config.token.toLowerCase() }, Number(amount)),
    setChannels(count: number, owed: Iterable<UnclaimedAmount>): void {
      channels.set(count);
      unclaimedUnits.reset();
      for (const { network, token, amount } of owed) unclaimedUnits.set({ network, token }, Number(amount));
    },
  };
}
