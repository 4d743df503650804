import Table from "cli-table3";

/** One row: what runs, where, and how long it took to be ready. */
export type ReadyRow = Readonly<{ name: string; url: string; readyAfterMs: number }>;

/** The table of what runs where. */
export function formatReadyTable(rows: readonly ReadyRow[]): string {
  const table = new Table({
    head: ["name", "URL", "ready after ms"],
    colAligns: ["left", "left", "right"],
    style: { head: [], border: [], compact: true },
  });
  for (const { name, url, readyAfterMs } of rows) table.push([name, url, String(readyAfterMs)]);
  return table.toString();
}
