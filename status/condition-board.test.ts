import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { ConditionReport } from "./condition.ts";
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

test("dates a fault from its start, and adds each of its alternating reasons to the events once", () => {
  let nowMs = 0;
  const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
  const events = createRecentEvents(clock);
  const log = pino({ enabled: false });
  const board = createConditionBoard({ log, metrics: new Registry(), clock, events });
  const set = (status: "True" | "False", reason: string) => {
    nowMs += 1_000;
    board.set({ type: "RpcResponding", status, reason, message: "" } as ConditionReport);
    return board.get("RpcResponding")?.since.slice(17);
  };
  const outage = ["TimedOut", "Unreachable", "TimedOut", "Unreachable"];
  set("True", "Responding");
  expect(outage.map((reason) => set("False", reason))).toEqual(Array(4).fill("02.000Z"));
  expect(set("True", "Responding")).toBe("06.000Z");
  expect(outage.map((reason) => set("False", reason))).toEqual(Array(4).fill("07.000Z"));
  expect(events.list().map(({ message }) => /\((\w+)\)/.exec(message)?.[1])).toEqual([
    "Unreachable",
    "TimedOut",
    "Responding",
    "Unreachable",
    "TimedOut",
  ]);
});
