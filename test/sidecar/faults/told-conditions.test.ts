import { expect, test } from "vitest";
import type { ConditionBoard } from "#status/condition-board.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { conditionTypes, type Condition, type ConditionType } from "#status/condition.ts";
import { readNodeReadiness } from "#status/node-readiness.ts";
import { judgeVerdict } from "#status/verdict.ts";
import { conditionStatus } from "./condition-status.ts";
import { strikingFaults } from "./reference.ts";
import { toldConditions } from "./told-conditions.ts";

/** A condition as the board has it; the tables tie each reason to its type and status, which the compiler loses here. */
function condition(type: ConditionType, reason: string): Condition {
  const status = conditionStatus(type, reason);
  return { type, status, reason, message: `${type} in words.`, since: "2026-01-01T00:00:00.000Z" } as Condition;
}

/** All conditions right but one. */
function boardOf(wrong: Condition): Pick<ConditionBoard, "get" | "list"> {
  const list = conditionTypes.map((type) =>
    type === wrong.type ? wrong : condition(type, conditionReasons[type].True[0]),
  );
  return { get: (type) => list.find((each) => each.type === type), list: () => list };
}

test.each(toldConditions)("$what: $condition makes the verdict $verdict, and /readyz answer $readyz", (told) => {
  const [type, reason] = told.condition;
  const board = boardOf(condition(type, reason));
  const verdict = judgeVerdict(board.list(), { mode: "enforce", watched: [] });
  const { ready } = readNodeReadiness({ ...board, set: () => undefined });
  expect([verdict.level, ready ? 200 : 503]).toEqual([told.verdict, told.readyz]);
  expect(verdict.message).not.toBe("");
});

test("every reason that is False or Unknown has a fault, and none has two rows", () => {
  const struck = new Set(strikingFaults.map(({ told }) => told.condition.join(" ")));
  const only = toldConditions.map((told) => told.condition.join(" "));
  const reasons = conditionTypes.flatMap((type) =>
    [...conditionReasons[type].False, ...conditionReasons[type].Unknown].map((reason) => `${type} ${reason}`),
  );
  expect(reasons.filter((reason) => !struck.has(reason) && !only.includes(reason))).toEqual([]);
  expect(only.filter((reason, at) => struck.has(reason) || only.indexOf(reason) !== at)).toEqual([]);
});
