import { quantile } from "../measurement.ts";
import { print, type Figure, type Target } from "./table.ts";
import { createRow, type LoadResult } from "./wrk.ts";

type Compare<Name> = (
  what: string,
  pair: readonly [measured: Name, base: Name],
  read: (result: LoadResult) => number,
  target: Target,
) => Figure;

/**
 * Measures several subjects in turn for this many rounds, so that disturbances of the machine affect all of them, and prints the results.
 * Returns a function that computes, from the rounds, the median ratio of two subjects, or their median difference.
 */
export async function measureInRounds<Name extends string>(
  title: string,
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<LoadResult>>>,
): Promise<Readonly<{ ratio: Compare<Name>; added: Compare<Name> }>> {
  const results = new Map<string, LoadResult[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, measureOnce] of Object.entries<() => Promise<LoadResult>>(subjects)) {
      results.set(name, [...(results.get(name) ?? []), await measureOnce()]);
    }
  }
  print(
    title,
    [...results].flatMap(([name, all]) => all.map((result) => createRow(name, result))),
  );
  const compareBy =
    (compare: (measured: number, base: number) => number): Compare<Name> =>
    (what, [measured, base], read, target) => {
      const bases = (results.get(base) ?? []).map(read);
      const compared = (results.get(measured) ?? []).map((result, round) => compare(read(result), bases[round] ?? 0));
      return { what, figure: quantile(compared, 0.5), target };
    };
  return {
    ratio: compareBy((measured, base) => measured / base),
    added: compareBy((measured, base) => measured - base),
  };
}
