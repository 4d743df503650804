import type { PaymentChain } from "../../support/payments/payment-chain.ts";
import type { Figure } from "../gateway/table.ts";
import { own } from "./sides.ts";
import { signBodies } from "./signed-bodies.ts";
import {
  compareSides,
  compareToSide,
  findLeastGood,
  type PaymentLines,
  type RoundLoad,
  type BenchSetup,
} from "./setup.ts";

const settle = { path: "/settle", field: "success", good: true } as const;

/** `/settle` on a chain that produces a block for each transaction. */
export const automineLines: PaymentLines = {
  name: "settle, automine",
  measure: async (setup) => {
    await setBlockTime(setup.chain, "automine");
    return measureSettlements(setup, {
      chain: "automine",
      atOnce: 32,
      requests: { ours: 1_024, others: 160 },
      least: 5,
    });
  },
};

/** `/settle` on a chain with one block per second. */
export const blockLines: PaymentLines = {
  name: "settle, 1 s blocks",
  measure: async (setup) => {
    await setBlockTime(setup.chain, 1);
    return measureSettlements(setup, {
      chain: "1 s blocks",
      atOnce: 500,
      requests: { ours: 1_000, others: 500 },
      least: 10,
    });
  },
};

async function measureSettlements(
  setup: BenchSetup,
  load: Readonly<{ chain: string; atOnce: number; requests: RoundLoad["requests"]; least: number }>,
): Promise<readonly Figure[]> {
  const { atOnce, requests, least } = load;
  const what = `/settle, ${load.chain}, ${atOnce} at a time`;
  const sign = (count: number) => signBodies(setup.place.token, count);
  const rounds = await compareSides(setup, { ...settle, what, atOnce, requests, sign });
  return [
    {
      what: `${what}: a second against the reference`,
      figure: compareToSide(rounds, ({ perSecond }) => perSecond),
      target: { least },
    },
    { what: `${what}: share that succeeds`, figure: findLeastGood(rounds.get(own) ?? []), target: { least: 1 } },
  ];
}

/** Sets how the chain produces blocks: one per transaction, or at an interval in seconds. */
export async function setBlockTime({ anvil }: PaymentChain, time: "automine" | number): Promise<void> {
  if (time === "automine") await anvil.request("evm_setAutomine", [true]);
  else await anvil.request("evm_setIntervalMining", [time]);
}
