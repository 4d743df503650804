/** Replaces the rows of a table of node releases or families while `run` runs. */
export function withRows<Row, T>(table: readonly Row[], rows: readonly Row[], run: () => T): T {
  const replace = (next: readonly Row[]) => (table as Row[]).splice(0, table.length, ...next);
  const before = replace(rows);
  try {
    return run();
  } finally {
    replace(before);
  }
}
