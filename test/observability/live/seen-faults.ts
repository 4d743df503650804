import { formatTable, withMarked } from "#daemon/markdown.ts";
import type { RuleGroup } from "#infra/observability/alert.ts";
import { watchdog, type SeenFault } from "./live-fault.ts";

/** Alerts for which no fault is made with a stack on one machine, and why. */
export const notMade: Readonly<Record<string, string>> = {
  GatehouseDataSuspect:
    "it needs damaged data: `test/sidecar/corrupt-data.integration.test.ts` damages those of a separate node",
  [watchdog]: "it always fires; a run fails if it does not fire at the end",
};

/** Words for an alert whose fault no run has made. */
export const notTried = "not tried yet";

/**
 * Prints what was seen as a table of Markdown, and below it what was not tried.
 *
 * @param page what the rows of alerts that were not tried now are taken from.
 */
export function printSeenFaults(
  seen: readonly SeenFault[],
  groups: readonly RuleGroup[],
  { scale, page }: Readonly<{ scale: number; page: string }>,
): string {
  const alerts = groups.flatMap((group) => group.alerts);
  const header = ["alert", "fault", "fires after", "resolved after", "fired with it"];
  const earlier = readRows(page);
  const found = alerts.map(({ name }) => {
    const one = seen.find(({ alert }) => alert === name);
    return { name, row: one === undefined ? earlier.get(name) : formatRow(one) };
  });
  const rows = found.flatMap(({ row }) => (row === undefined ? [] : [row]));
  const missing = found.flatMap(({ name, row }) =>
    row === undefined ? [`- \`${name}\`: ${notMade[name] ?? notTried}.`] : [],
  );
  return [
    `Scale 1 : ${scale}, by alert.`,
    "",
    ...formatTable(header, rows),
    ...(missing.length === 0 ? [] : ["", "Not made here:", "", ...missing]),
  ].join("\n");
}

/**
 * Says no where a page has rows that were measured at another scale: those that a run keeps would be reported as measured at its own.
 *
 * @throws {Error} that says what to do.
 */
export function rejectOtherScale(page: string, scale: number): void {
  const [, measuredAt] = /^Scale 1 : (\S+), by alert\./m.exec(page) ?? [];
  if (measuredAt === undefined || Number(measuredAt) === scale) return;
  throw new Error(
    `test/observability/live/README.md has faults measured at 1 : ${measuredAt}, which 1 : ${scale} would be said of; leave --write out, or give --scale ${measuredAt}`,
  );
}

function formatRow(one: SeenFault): readonly string[] {
  return [
    `\`${one.alert}\``,
    one.what,
    `${one.firedAfterSeconds} s`,
    `${one.resolvedAfterSeconds} s`,
    one.besides.map((other) => `\`${other.slice("Gatehouse".length)}\``).join(", "),
  ];
}

/** Reads the rows of a page's table, by alert. */
function readRows(page: string): ReadonlyMap<string, readonly string[]> {
  const lines = page.split("\n").filter((line) => line.startsWith("| `Gatehouse"));
  const rows = lines.map((line) =>
    line
      .slice(2, -2)
      .split(" | ")
      .map((cell) => cell.trim()),
  );
  return new Map(rows.map((row) => [row[0]?.replaceAll("`", "") ?? "", row]));
}

/**
 * Puts the table in place of the one between the comments `<!-- alerts: … -->` and `<!-- /alerts -->`.
 *
 * @throws {Error} when the text has no such comments.
 */
export function withSeenFaults(text: string, table: string): string {
  return withMarked(text, { page: "test/observability/live/README.md", mark: "alerts", marked: table });
}
