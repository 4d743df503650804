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

/** Says of a figure whether it keeps to its target, which is a most or a least. */
export function verdict(what: string, figure: number, target: Readonly<{ most: number } | { least: number }>): Row {
  const isMet = "most" in target ? figure <= target.most : figure >= target.least;
  const bound = "most" in target ? `<= ${target.most}` : `>= ${target.least}`;
  return { what, measured: Math.round(figure * 100) / 100, target: bound, verdict: isMet ? "met" : "NOT met" };
}
