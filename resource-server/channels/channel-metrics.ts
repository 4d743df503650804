import type { SettleResponse } from "@x402/core/types";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Channel } from "../claims/channel-ledger.ts";

/** Metrics of a seller's channels. Labels are networks and tokens of the offers, and outcomes of the code. */
export type ChannelMetrics = ReturnType<typeof createChannelMetrics>;

/** Amounts charged through channels and not yet claimed, by network and token. */
export type UnclaimedAmounts = ReturnType<typeof createUnclaimedAmounts>;

type Unclaimed = Readonly<{ network: string; token: string; amount: bigint }>;

/** Creates empty amounts. */
export function createUnclaimedAmounts() {
  const amounts = new Map<string, Unclaimed>();
  return {
    add({ network, config, charged, state }: Channel): void {
      const token = config.token.toLowerCase();
      const key = `${network} ${token}`;
      const amount = (amounts.get(key)?.amount ?? 0n) + charged - state.totalClaimed;
      amounts.set(key, { network, token, amount });
    },
    list: (): readonly Unclaimed[] => [...amounts.values()],
  };
}

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
    /** Sets the number of channels, and the unclaimed amounts. */
    setChannels(count: number, unclaimed: UnclaimedAmounts): void {
      channels.set(count);
      unclaimedUnits.reset();
      for (const { network, token, amount } of unclaimed.list()) unclaimedUnits.set({ network, token }, Number(amount));
    },
  };
}
