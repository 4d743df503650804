import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createConditionBoard } from "./condition-board.ts";
import { createRecentEvents } from "./event-log.ts";

test("does not log a condition that is no longer known as recovered", () => {
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const board = createConditionBoard({ log, metrics: new Registry(), clock, events: createRecentEvents(clock) });
  board.set({ type: "HeightAdvancing", status: "True", reason: "Advancing", message: "Height is 7." });
  board.set({
    type: "HeightAdvancing",
    status: "Unknown",
    reason: "NoResponse",
    message: "The RPC is not responding.",
  });
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
    "condition-recovered",
    "condition-unknown",
  ]);
});
