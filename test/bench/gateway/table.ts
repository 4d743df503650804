import type { Measurement } from "../measurement.ts";

/** One line of output: what was measured, with units in the names. */
export type Row = Readonly<Record<string, string | number>>;

/** Prints rows under a title. */
export function print(title: string, rows: readonly Row[]): void {
  process.stdout.write(`\n${title}\n`);
  for (const row of rows) {
    const cells = Object.entries(row).map(([name, value]) => `${name}: ${value}`);
    process.stdout.write(`  ${cells.join("  ")}\n`);
  }
}

/** Bound that a figure has to keep to. */
export type Target = Readonly<{ most: number } | { least: number }>;

/** A figure that has a target. */
export type Figure = Readonly<{ what: string; figure: number; target: Target }>;

/** Says of figures whether they keep to their targets, the one that is farthest from its own first. */
export function judge(figures: readonly Figure[]): readonly Measurement[] {
  return figures.toSorted((one, other) => computeExcess(other) - computeExcess(one)).map(judgeOne);
}

/** Says of one figure whether it keeps to its target, which is a most or a least. */
function judgeOne({ what, figure, target }: Figure): Measurement {
  const isMet = "most" in target ? figure <= target.most : figure >= target.least;
  const bound = "most" in target ? `<= ${target.most}` : `>= ${target.least}`;
  return { what, measured: String(Math.round(figure * 100) / 100), target: bound, isMet };
}

/** Computes the ratio of a figure to its most, or of its least to the figure: above 1, the target is missed. */
function computeExcess({ figure, target }: Figure): number {
  return "most" in target ? figure / target.most : target.least / figure;
}

/** Lines of output that say whether figures keep to their targets. */
export function formatVerdicts(measurements: readonly Measurement[]): readonly Row[] {
  return measurements.map(({ what, measured, target, isMet }) => ({
    what,
    measured,
    target,
    verdict: isMet ? "met" : "NOT met",
  }));
}
