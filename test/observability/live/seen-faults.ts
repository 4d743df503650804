import { formatTable, withMarked } from "#daemon/markdown.ts";
import type { RuleGroup } from "#infra/observability/alert.ts";
import type { SeenFault } from "./live-fault.ts";

/** Alerts for which no fault is made with a stack on one machine, and why. */
const notMade: Readonly<Record<string, string>> = {
  GatehouseUpgradeFailed:
    "a version that fails is put on a devnet node in `test/sidecar/upgrade-command.integration.test.ts`, which reads the condition",
  GatehouseUpgradeLong: "an hour and a half of an upgrade is longer than a fault lasts here; promtool alone fires it",
  GatehouseVersionTooOld:
    "a release list is put before a sidecar in `test/sidecar/releases.integration.test.ts`, which reads the condition; promtool fires the alert",
  GatehouseVersionTooOldSoon:
    "a release list is put before a sidecar in `test/sidecar/releases.integration.test.ts`, which reads the condition; promtool fires the alert",
  GatehouseFileRefused:
    "a policy that can't be used is put before a gateway in `test/cli/doctor.integration.test.ts`, which reads the condition; promtool fires the alert",
  GatehouseNotLookedAfter:
    "a `node_cli` that never ends does not keep the sidecar from whole passes, and a file system of the node's programs that hangs stops the whole process, which is told as GatehouseSidecarDown; promtool alone fires it",
  GatehouseSettlementOld: "its ten minutes are longer than a fault lasts here; promtool alone fires it",
  GatehouseLedgerMismatch:
    "a chain that forgets blocks under a whole stack is several faults at once; a facilitator's own test makes it forget one, and promtool fires the alert",
  GatehouseLedgerNotCompared:
    "its five minutes are longer than a fault lasts here, and a node without answers is told first; promtool alone fires it",
  GatehouseVolumeAtCeiling: "needs a claim that a cluster grows; promtool alone fires it",
};

/** Prints what was seen as a table of Markdown, and below it what was not tried. */
export function printSeenFaults(seen: readonly SeenFault[], groups: readonly RuleGroup[], scale: number): string {
  const alerts = groups.flatMap((group) => group.alerts);
  const header = ["alert", "fault", "waits for", "fires after", "resolved after", "fired with it"];
  const rows = alerts.flatMap(({ name, for: waits }) =>
    seen
      .filter(({ alert }) => alert === name)
      .map((one) => [
        `\`${name}\``,
        one.what,
        waits,
        `${one.firedAfterSeconds} s`,
        `${one.resolvedAfterSeconds} s`,
        one.besides.map((other) => `\`${other.slice("Gatehouse".length)}\``).join(", "),
      ]),
  );
  const missing = alerts
    .filter(({ name }) => !seen.some(({ alert }) => alert === name))
    .map(({ name }) => `- \`${name}\`: ${notMade[name] ?? "not tried in this run"}.`);
  return [
    `Scale 1 : ${scale}. "Waits for" is the rule's own \`for\`, before it is divided.`,
    "",
    ...formatTable(header, rows),
    ...(missing.length === 0 ? [] : ["", "Not made here:", "", ...missing]),
  ].join("\n");
}

/**
 * Puts the table in place of the one between the comments `<!-- alerts: … -->` and `<!-- /alerts -->`.
 *
 * @throws {Error} when the text has no such comments.
 */
export function withSeenFaults(text: string, table: string): string {
  return withMarked(text, { page: "docs/verified.md", mark: "alerts", marked: table });
}
