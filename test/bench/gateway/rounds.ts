import { quantile } from "../measurement.ts";
import type { LoadResult } from "./wrk.ts";

/**
 * Measures several subjects in turn for this many rounds, so that disturbances of the machine affect all of them;
 * returns each one's results by round.
 */
export async function measureInRounds<Name extends string>(
  rounds: number,
  measurements: Readonly<Record<Name, () => Promise<LoadResult>>>,
): Promise<(name: Name) => readonly LoadResult[]> {
  const results = new Map<string, LoadResult[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, measureOnce] of Object.entries<() => Promise<LoadResult>>(measurements)) {
      results.set(name, [...(results.get(name) ?? []), await measureOnce()]);
    }
  }
  return (name) => results.get(name) ?? [];
}

/** Computes the median ratio of one thing's figure to another's over the rounds. */
export function computeRatio(
  measured: readonly LoadResult[],
  base: readonly LoadResult[],
  figure: (result: LoadResult) => number,
): number {
  return compareByRound(measured, base, (one, other) => figure(one) / figure(other));
}

/** Computes the median difference between one thing's figure and another's over the rounds. */
export function computeAdded(
  measured: readonly LoadResult[],
  base: readonly LoadResult[],
  figure: (result: LoadResult) => number,
): number {
  return compareByRound(measured, base, (one, other) => figure(one) - figure(other));
}

function compareByRound(
  measured: readonly LoadResult[],
  base: readonly LoadResult[],
  compare: (one: LoadResult, other: LoadResult) => number,
): number {
  const compared = measured.map((result, round) => compare(result, base[round] ?? result));
  return quantile(compared, 0.5);
}
