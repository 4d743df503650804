import { globSync, readFileSync } from "node:fs";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createConditionBoard } from "./condition-board.ts";
import { conditionReasons } from "./condition-reasons.ts";
import {
  conditionTypes,
  findConditionTitle,
  type ConditionReport,
  type ConditionStatus,
  type ConditionType,
} from "./condition.ts";

const clock = { wallMs: () => 0, monotonicMs: () => 0 };
const statuses = ["True", "False", "Unknown"] as const satisfies readonly ConditionStatus[];
const values = { True: 1, False: 0, Unknown: -1 };

function board() {
  const metrics = new Registry();
  const events = { add: () => undefined, begin: () => undefined, fail: () => undefined, list: () => [] };
  return { metrics, ...createConditionBoard({ log: pino({ level: "silent" }), metrics, clock, events }) };
}

function reportsOf(type: ConditionType): readonly ConditionReport[] {
  return statuses.flatMap((status) =>
    // The types tie a reason to its type and status, which the compiler can't check in the two loops.
    conditionReasons[type][status].map((reason) => ({ type, status, reason, message: "In words." }) as ConditionReport),
  );
}

test.each(conditionTypes)("exports one series for the status and one for the reason of %s", async (type) => {
  const { metrics, set } = board();
  for (const report of reportsOf(type)) {
    set(report);
    const lines = (await metrics.metrics()).split("\n").filter((line) => line.startsWith("gatehouse_"));
    expect(lines).toEqual([
      `gatehouse_condition{type="${type}"} ${values[report.status]}`,
      `gatehouse_condition_info{type="${type}",reason="${report.reason}"} 1`,
    ]);
  }
});

test("contains only reasons that some part of the sidecar reports", () => {
  const sources = globSync("{sidecar,node,health,status,gateway}/**/*.ts", {
    exclude: ["status/**", "**/*.test.ts", "*/testing/**"],
  });
  const text = sources.map((path) => readFileSync(path, "utf8")).join("\n");
  const reasons = new Set(conditionTypes.flatMap((type) => reportsOf(type).map(({ reason }) => reason)));
  expect([...reasons].filter((reason) => !text.includes(`"${reason}"`))).toEqual([]);
});

test("gives unknown states titles that don't sound healthy", () => {
  for (const type of conditionTypes) {
    // An area's title matches its first reason; other reasons of the same status may have a more specific title.
    const [right, ...others] = reportsOf(type);
    const unknown = others.filter(({ status }) => status === "Unknown").map(findConditionTitle);
    expect(unknown).not.toContain(findConditionTitle(right as ConditionReport));
  }
});

test.each([
  ["NoRestartPending", "EditRejected", "The edit of node.conf is rejected"],
  ["ConfigReconciled", "Contested", "Another program keeps changing node.conf"],
  ["ConfigReconciled", "StartRewrites", "The node's start script overwrites node.conf"],
  ["VersionConsistent", "VersionUnknown", "The node's version is unknown"],
  ["Pruning", "PruningStalled", "Pruning does not advance"],
  ["MetricsArriving", "PushgatewayUnreachable", "The Pushgateway can't be queried"],
  ["MetricsArriving", "JobShared", "Several nodes push metrics as one job"],
] as const)("gives %s a title that is true for the reason %s", (type, reason, title) => {
  expect(findConditionTitle({ type, status: "False", reason })).toBe(title);
});
