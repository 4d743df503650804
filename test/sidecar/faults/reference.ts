import { formatTable } from "#daemon/markdown.ts";
import type { ConditionType } from "#status/condition.ts";
import { findConditionStatus, metricValues } from "./condition-status.ts";
import type { Fault, Refusal } from "./fault.ts";
import { fileFaults } from "./file-faults.ts";
import { nodeFaults } from "./node-faults.ts";
import { processFaults } from "./process-faults.ts";
import { refusals } from "./refusals.ts";
import { restartFaults } from "./restart-faults.ts";
import { shownConditions, type ShownCondition } from "./shown-conditions.ts";
import { upkeepFaults } from "./upkeep-faults.ts";
import { expectVerdictWords } from "./verdict-words.ts";

/** The faults that a sidecar is struck with. */
export const strikingFaults: readonly Fault[] = [
  ...nodeFaults,
  ...fileFaults,
  ...upkeepFaults,
  ...restartFaults,
  ...processFaults,
];

/** Prints the page of faults: the very table that the tests strike a node with. */
export function printFaultsReference(): string {
  return [
    "# Faults, and how they are reported",
    "",
    "Printed by `npm run docs` from the table that the tests run, over a node of each devnet profile: each fault is brought about next to a real sidecar, and",
    "verdict, condition, `/readyz` and metrics have to say the same. Times are the tests'. `…` stands for what differs from node to node.",
    "",
    'Besides the metric that is named, `gatehouse_verdict{level="…"}` is 1 for the verdict, and `gatehouse_condition_info{type="…",reason="…"}` for the reason; the verdict',
    "`unknown` means that something was not, or could not be, looked at. What a person reads is the beginning of the condition's message, as the page, `/status`",
    "and the log have it, of the whole the beginning of the verdict, which names that condition.",
    "",
    ...section("The node and its chain", nodeFaults),
    ...section("node.conf, file systems and other writers", fileFaults),
    ...section("node_cli, the Pushgateway and the data's disk", upkeepFaults),
    ...section("Restarts, upgrades, the clock and the first contact", restartFaults),
    ...section("The sidecar's own process", processFaults),
    "## Every other reason",
    "",
    "What a node is called of which one condition alone is not right, for the reasons that no fault above has as its main one. A fault often has several:",
    "a node that does not answer has `RpcAnswering` False, and `HeightAdvancing` and `GatewayServing` Unknown.",
    "",
    ...formatEscapedTable(
      ["what happened", "verdict", "condition", "`/readyz`", "metric"],
      shownConditions.map(buildConditionRow),
    ),
    "",
    "## Faults at which the sidecar does not start",
    "",
    ...formatEscapedTable(["what happened", "the process ends with status 1 and"], refusals.map(buildRefusalRow)),
    "",
  ].join("\n");
}

function section(title: string, faults: readonly Fault[]): readonly string[] {
  const heads = [
    "what happened",
    "verdict",
    "condition",
    "`/readyz`",
    "metric",
    "what a person reads",
    "and of the whole",
  ];
  return [`## ${title}`, "", ...formatEscapedTable(heads, faults.map(buildFaultRow)), ""];
}

function buildFaultRow({ what, shown }: Fault): readonly string[] {
  return [...buildCells(what, shown), shown.reads, expectVerdictWords(shown)];
}

function buildConditionRow({ what, ...shown }: ShownCondition): readonly string[] {
  return buildCells(what, shown);
}

function buildCells(
  what: string,
  {
    verdict,
    condition: [type, reason],
    readyz,
  }: Readonly<{ verdict: string; condition: readonly [ConditionType, string]; readyz: number }>,
): readonly string[] {
  const metric = `gatehouse_condition{type="${type}"} ${metricValues[findConditionStatus(type, reason)]}`;
  return [what, `\`${verdict}\``, `\`${type}\`: ${reason}`, String(readyz), `\`${metric}\``];
}

function buildRefusalRow({ what, reads }: Refusal): readonly string[] {
  return [what, reads];
}

function formatEscapedTable(heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  return formatTable(heads, escaped);
}
