import Table from "cli-table3";
import type { Paint } from "#daemon/command-line/paint.ts";

/** One row: a running part, its URL, and its startup time in ms. */
export type ReadyRow = Readonly<{ name: string; url: string; readyAfterMs: number }>;

/** Formats the table of running parts, with the first row highlighted, because users look there first. */
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

/** Document of `gatehouse stack --json`, printed after the purchase. */
export type StackDocument = Readonly<{
  parts: readonly ReadyRow[];
  /** Page about all services, served with `--overview`. */
  overview: string | undefined;
  /** Document of `gatehouse pay --json`. */
  purchase: unknown;
  paidAfterMs: number;
}>;
