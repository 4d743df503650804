import type { SettleResponse } from "@x402/core/types";
import { Counter, Gauge, type Registry } from "prom-client";

/** Metrics of a seller's channels. Labels are networks and tokens of the offers, and outcomes of the code. */
export type ChannelMetrics = ReturnType<typeof createChannelMetrics>;

/** Amount charged through channels and not yet claimed. */
export type UnclaimedAmount = Readonly<{ network: string; token: string; amount: bigint }>;

/** Adds the metrics of channels to a registry. */
export function createChannelMetrics(registry: Registry) {
  const registers = [registry];
  const channels = new Gauge({
    name: "gatehouse_channels",
    help: "Payment channels in the ledger; channels that are claimed and idle for ledger.retentionSeconds are deleted.",
    registers,
  });
  const unclaimedUnits = new Gauge({
    name: "gatehouse_channels_unclaimed_units",
    help: "Amount charged through payment channels and not yet claimed, in the token's smallest units, before the last round of claims.",
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
    /** Counts the response to a claim; undefined if its outcome is unknown. */
    countClaim: (answer: SettleResponse | undefined): void =>
      claims.inc({ result: answer === undefined ? "unknown" : answer.success ? "claimed" : "rejected" }),
    /** Sets the number of channels, and the unclaimed amounts by network and token. */
    setChannels(count: number, owed: Iterable<UnclaimedAmount>): void {
      channels.set(count);
      unclaimedUnits.reset();
      for (const { network, token, amount } of owed) unclaimedUnits.set({ network, token }, Number(amount));
    },
  };
}
