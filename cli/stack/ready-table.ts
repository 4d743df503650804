import Table from "cli-table3";
import type { Paint } from "#daemon/command-line/paint.ts";

/** One row: what runs, where, and how long it took to be ready. */
export type ReadyRow = Readonly<{ name: string; url: string; readyAfterMs: number }>;

/** The table of what runs where; the first row is where a person looks first. */
export function formatReadyTable(rows: readonly ReadyRow[], paint: Paint): string {
  const table = new Table({
    head: ["name", "URL", "ready after ms"].map((title) => paint("bold", title)),
    colAligns: ["left", "left", "right"],
    style: { head: [], border: [], compact: true },
  });
  for (const [index, { name, url, readyAfterMs }] of rows.entries()) {
    table.push([name, index === 0 ? paint(["bold", "cyan"], url) : url, String(readyAfterMs)]);
  }
  return table.toString();
}

/** Document of `gatehouse stack --json`, printed once its request is bought. */
export type StackDocument = Readonly<{
  parts: readonly ReadyRow[];
  /** The page about all services, with `--overview`. */
  overview: string | undefined;
  /** What `gatehouse pay --json` prints. */
  purchase: unknown;
  paidAfterMs: number;
}>;
