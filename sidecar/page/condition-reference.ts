import { escapeCell, wrapLines } from "#daemon/markdown.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { defaultPorts } from "#daemon/default-ports.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import type { Condition, ConditionType } from "#status/condition.ts";
import { sidecarSettings } from "../settings.ts";
import { listSteps } from "./advice/advice.ts";
import { buildDeployment } from "./advice/deployment.ts";
import { findRunbook } from "#status/runbook.ts";

export function renderConditionReference(): string {
  return [
    "# Conditions",
    "",
    "Printed by `npm run docs` from the code; do not edit. A condition of a node is `True`, `False` or `Unknown`, always with a reason, at `/status` and in",
    '`gatehouse_condition{type="…"}` (1, 0, -1) and `gatehouse_condition_info{type="…",reason="…"}`. Each lists the reasons for `False` and what to do;',
    "the status page adds the commands for its deployment.",
    "",
    ...Object.entries(conditionReasons).flatMap(([type, reasons]) => formatSection(type as ConditionType, reasons)),
  ].join("\n");
}

type Reasons = Readonly<Record<"True" | "False" | "Unknown", readonly string[]>>;

function formatSection(
  type: ConditionType,
  { True: right, False: wrong, Unknown: unknownReasons }: Reasons,
): readonly string[] {
  const reasonsWithAdvice = wrong.map((reason) => ({
    link: `[\`${reason}\`](runbooks/${findRunbook({ type, reason } as Condition)})`,
    advice: formatAdvice(type, reason),
  }));
  const items = [...Map.groupBy(reasonsWithAdvice, ({ advice }) => advice)].flatMap(([advice, some]) =>
    wrapLines(`- ${some.map(({ link }) => link).join(", ")}: ${advice}`),
  );
  return [
    `## ${type}`,
    "",
    ...wrapLines(
      `True: ${formatReasons(right)}.${unknownReasons.length === 0 ? "" : ` Unknown: ${formatReasons(unknownReasons)}.`}`,
    ),
    "",
    ...(items.length === 0 ? [] : [...items, ""]),
  ];
}

function formatReasons(reasons: readonly string[]): string {
  return reasons.map((reason) => `\`${reason}\``).join(", ");
}

function formatAdvice(type: ConditionType, reason: string): string {
  const settings = readSettings(sidecarSettings, { env: { GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/data/node" } });
  const deployment = buildDeployment(settings, {
    command: (verb) => `gatehouse ${verb}`,
    statusUrl: `http://127.0.0.1:${defaultPorts.sidecar.status}`,
    ops: { directory: "/data/node/bin", start: ["./ops", "start", "--config", "./node.conf"] },
    configPath: "/data/node/bin/node.conf",
    dataPath: "/data/node/data",
  });
  const condition = { type, reason, status: "False", message: "", since: "" } as Condition;
  const steps = listSteps(condition, deployment).map(({ text }) => escapeCell(text));
  return steps.length === 0 ? "nothing; it resolves itself, or another condition has the steps." : steps.join(" ");
}
