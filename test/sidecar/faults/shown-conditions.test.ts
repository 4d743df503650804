import { expect, test } from "vitest";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createConditionBoard } from "#status/condition-board.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { conditionTypes, findConditionTitle, type Condition, type ConditionType } from "#status/condition.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { writeHeadline } from "#status/headline.ts";
import { findIncidents } from "#status/incident.ts";
import { readNodeReadiness } from "#status/node-readiness.ts";
import { showVerdict } from "#status/verdict-metric.ts";
import { deriveVerdict } from "#status/verdict.ts";
import { findConditionStatus, metricValues, statesByLevel } from "./fault.ts";
import { shownConditions } from "./shown-conditions.ts";

/**
 * A condition as shown by the page and the metrics. The tables tie each reason to its type and status, which the compiler can't check here.
 */
function condition(type: ConditionType, reason: string): Condition {
  const status = findConditionStatus(type, reason);
  return { type, status, reason, message: `${type} in words.`, since: "2026-01-01T00:00:00.000Z" } as Condition;
}

const clock = { wallMs: () => 0, monotonicMs: () => 0 };

/** A board on which all conditions are healthy except one, and its metrics. */
function boardOf(wrong: Condition) {
  const metrics = new Registry();
  const log = pino({ level: "silent" });
  const board = createConditionBoard({ log, metrics, clock, events: createRecentEvents(clock) });
  for (const type of conditionTypes) {
    board.set(type === wrong.type ? wrong : condition(type, conditionReasons[type].True[0]));
  }
  return { board, metrics };
}

test.each(shownConditions)("$condition makes the verdict $verdict and /readyz respond with $readyz", async (shown) => {
  const [type, reason] = shown.condition;
  const { board, metrics } = boardOf(condition(type, reason));
  const verdict = deriveVerdict(board.list(), []);
  const { ready } = readNodeReadiness(board);
  showVerdict(metrics, () => verdict);
  expect([verdict.level, ready ? 200 : 503]).toEqual([shown.verdict, shown.readyz]);
  const { state, cause } = writeHeadline(verdict, board.list(), findIncidents(board.list()));
  expect(state).toMatch(statesByLevel[shown.verdict]);
  const shortCause = reason === "Behind" ? "It is behind the references." : undefined;
  if (shown.verdict === "degraded") expect(cause).toContain(shortCause ?? findConditionTitle(condition(type, reason)));
  const exposedMetrics = await metrics.metrics();
  expect(exposedMetrics).toContain(
    `gatehouse_condition{type="${type}"} ${metricValues[findConditionStatus(type, reason)]}\n`,
  );
  expect(exposedMetrics).toContain(`gatehouse_condition_info{type="${type}",reason="${reason}"} 1\n`);
  expect(exposedMetrics.match(/^gatehouse_verdict\{.*\} 1$/gm)).toEqual([
    `gatehouse_verdict{level="${shown.verdict}"} 1`,
  ]);
});

test("has exactly one row for every reason that is False or Unknown", () => {
  const rows = shownConditions.map((shown) => shown.condition.join(" "));
  const reasons = conditionTypes.flatMap((type) =>
    [...conditionReasons[type].False, ...conditionReasons[type].Unknown].map((reason) => `${type} ${reason}`),
  );
  expect(rows.toSorted()).toEqual(reasons.toSorted());
});
