import type { Measurement } from "../measurement.ts";

/** One line of output: the measurements, with units in their names. */
export type Row = Readonly<Record<string, string | number>>;

export function print(title: string, rows: readonly Row[]): void {
  process.stdout.write(`\n${title}\n`);
  for (const row of rows) {
    const cells = Object.entries(row).map(([name, value]) => `${name}: ${value}`);
    process.stdout.write(`  ${cells.join("  ")}\n`);
  }
}

export type Target = Readonly<{ most: number } | { least: number }>;

export type Figure = Readonly<{ what: string; figure: number; target: Target }>;

/** Reports whether figures meet their targets; the one that misses its target by most comes first. */
export function judge(figures: readonly Figure[]): readonly Measurement[] {
  return figures.toSorted((one, other) => computeExcess(other) - computeExcess(one)).map(judgeOne);
}

/** Reports whether one figure meets its target, which is a max or a min. */
function judgeOne({ what, figure, target }: Figure): Measurement {
  const isMet = "most" in target ? figure <= target.most : figure >= target.least;
  const bound = "most" in target ? `<= ${target.most}` : `>= ${target.least}`;
  return { what, measured: String(Math.round(figure * 100) / 100), target: bound, isMet };
}

/** Computes the ratio of a figure to its max, or of its min to the figure: above 1, the target is missed. */
function computeExcess({ figure, target }: Figure): number {
  return "most" in target ? figure / target.most : target.least / figure;
}

/** Lines of output that report whether figures meet their targets. */
export function formatVerdicts(measurements: readonly Measurement[]): readonly Row[] {
  return measurements.map(({ what, measured, target, isMet }) => ({
    what,
    measured,
    target,
    verdict: isMet ? "met" : "NOT met",
  }));
}
