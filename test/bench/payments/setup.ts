import type { PaymentChain } from "../../support/payments/payment-chain.ts";
import { print, type Figure } from "../gateway/table.ts";
import { quantile } from "../measurement.ts";
import { sendAll, type LoadResult } from "./load.ts";
import { postBodies, type Operation } from "./operation.ts";
import { own, reference, type Side, type SideLocation } from "./sides.ts";

export type BenchSetup = Readonly<{
  chain: PaymentChain;
  place: SideLocation;
  /** Our facilitator, the reference, and x402-rs if it was found. */
  sides: readonly Side[];
  rounds: number;
  /** Time for which our memory is monitored, in seconds. */
  memorySeconds: number;
  /** Settlements in the large ledger. */
  ledgerRows: number;
}>;

export type PaymentLines = Readonly<{
  name: string;
  measure: (setup: BenchSetup) => Promise<readonly Figure[]>;
}>;

/** Load of a line: requests per side and round, and how many are sent concurrently. */
export type RoundLoad = Operation &
  Readonly<{
    what: string;
    atOnce: number;
    requests: Readonly<{ ours: number; others: number }>;
    sign: (count: number) => readonly string[];
  }>;

export type Rounds = ReadonlyMap<string, readonly LoadResult[]>;

/** Measures all sides in turn, for some rounds, each with its own payments; prints the medians. */
export async function compareSides(
  { sides, rounds }: Pick<BenchSetup, "sides" | "rounds">,
  load: RoundLoad,
): Promise<Rounds> {
  const measured = new Map<string, LoadResult[]>();
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates, because the first side of a round gets a different share of a busy machine.
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const bodies = load.sign(side.name === own ? load.requests.ours : load.requests.others);
      const result = await sendAll({ ...side, ...postBodies(side, bodies, load), atOnce: load.atOnce });
      measured.set(side.name, [...(measured.get(side.name) ?? []), result]);
    }
  }
  const rows = [...measured].map(([name, results]) => ({
    side: name,
    "a second": findMedian(results, (result) => result.perSecond),
    "CPU µs": findMedian(results, (result) => result.cpuMicros),
    "p99 ms": findMedian(results, (result) => result.p99Ms),
    "as expected": `${Math.round(findLeastGood(results) * 1_000) / 10} %`,
    ...(results.some(({ example }) => example !== undefined)
      ? { otherwise: results.find(({ example }) => example !== undefined)?.example ?? "" }
      : {}),
  }));
  print(load.what, rows);
  return measured;
}

export function findMedian(results: readonly LoadResult[], figure: (result: LoadResult) => number): number {
  return quantile(results.map(figure), 0.5);
}

export function findLeastGood(results: readonly LoadResult[]): number {
  return Math.min(...results.map(({ goodShare }) => goodShare));
}

/** Returns the rounds' median ratio of our figure to another side's; NaN without that side. */
export function compareToSide(
  rounds: Rounds,
  figure: (result: LoadResult) => number,
  other: string = reference,
): number {
  const others = rounds.get(other) ?? [];
  const ratios = (rounds.get(own) ?? []).map((result, round) => figure(result) / figure(others[round] ?? result));
  return others.length === 0 ? Number.NaN : quantile(ratios, 0.5);
}
