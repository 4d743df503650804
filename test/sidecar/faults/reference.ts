import type { Fault, Refusal } from "./fault.ts";
import { fileFaults } from "./file-faults.ts";
import { nodeFaults } from "./node-faults.ts";
import { processFaults } from "./process-faults.ts";
import { refusals } from "./refusals.ts";
import { restartFaults } from "./restart-faults.ts";
import { upkeepFaults } from "./upkeep-faults.ts";

/** The page of faults: the very table that the tests strike a node with. */
export function faultsReference(): string {
  return [
    "# Faults, and what is told of them",
    "",
    "Printed by `npm run docs` from the table that the tests run, over a node of each devnet profile: each fault is brought about beside a real sidecar, and",
    "verdict, condition, `/readyz` and metrics have to say the same. Times are the tests'. `…` stands for what differs from node to node.",
    "",
    'The metric is `gatehouse_verdict{level="…"} 1` for the verdict, and `gatehouse_condition_info{type="…",reason="…"} 1` for the condition; the verdict',
    "`unknown` means that something was not, or could not be, looked at. What a person reads is the beginning of the condition's message, as the page, `/status`",
    "and the log have it.",
    "",
    ...section("The node and its chain", nodeFaults),
    ...section("node.conf, file systems and other writers", fileFaults),
    ...section("node_cli, the Pushgateway and the data's disk", upkeepFaults),
    ...section("Restarts, upgrades, the clock and the first contact", restartFaults),
    ...section("The sidecar's own process", processFaults),
    "## Faults at which the sidecar does not start",
    "",
    ...table(["what happened", "the process ends with status 1 and"], refusals.map(refusalRow)),
    "",
  ].join("\n");
}

function section(title: string, faults: readonly Fault[]): readonly string[] {
  const heads = ["what happened", "verdict", "condition", "`/readyz`", "what a person reads"];
  return [`## ${title}`, "", ...table(heads, faults.map(faultRow)), ""];
}

function faultRow({ what, told }: Fault): readonly string[] {
  const [type, reason] = told.condition;
  return [what, `\`${told.verdict}\``, `\`${type}\`: ${reason}`, String(told.readyz), told.reads];
}

function refusalRow({ what, reads }: Refusal): readonly string[] {
  return [what, reads];
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const cells = [heads, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = heads.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  return [lines[0] ?? "", `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...lines.slice(1)];
}
