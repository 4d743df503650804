import { Gauge, type Registry } from "prom-client";
import type { Logger } from "#daemon/log/log.ts";
import type { Clock } from "#daemon/clock.ts";
import {
  conditionTypes,
  findConditionTitle,
  type Condition,
  type ConditionReport,
  type ConditionType,
} from "./condition.ts";
import type { EventLog } from "./event-log.ts";
import { findRunbook } from "./runbook.ts";

/** The node's current conditions, as reported by the sidecar's components. */
export type ConditionBoard = Readonly<{
  /**
   * Sets a condition. Each change of its status or reason is logged and counted; `since` changes with its title only. Reasons with the same
   * title may alternate, for example with each check of a stopped container, so the events list each of them once.
   */
  set: (report: ConditionReport) => void;
  get: (type: ConditionType) => Condition | undefined;
  /** Returns all conditions that were set, in the order of {@link conditionTypes}. */
  list: () => readonly Condition[];
}>;

/**
 * Creates an empty board. `gatehouse_condition{type}` (1 True, 0 False, -1 Unknown) is one series per condition, whatever the reason.
 * `gatehouse_condition_info{type,reason}` is 1 for the current reason, one series per condition.
 */
export function createConditionBoard(
  dependencies: Readonly<{ log: Logger; metrics: Registry; clock: Clock; events: EventLog }>,
): ConditionBoard {
  const { log, clock, events } = dependencies;
  const current = new Map<ConditionType, Condition>();
  /** Reasons that the events already list, since each condition's title last changed. */
  const reported = new Map<ConditionType, Set<string>>();
  const registers = [dependencies.metrics];
  const value = new Gauge({
    name: "gatehouse_condition",
    help: "Status of a condition of the node: 1 True, 0 False, -1 Unknown.",
    labelNames: ["type"],
    registers,
  });
  const info = new Gauge({
    name: "gatehouse_condition_info",
    help: "Active reason of each condition; always 1.",
    labelNames: ["type", "reason"],
    registers,
  });
  const set: ConditionBoard["set"] = (next) => {
    const before = current.get(next.type);
    const isSameTitle = before !== undefined && findConditionTitle(before) === findConditionTitle(next);
    current.set(next.type, { ...next, since: isSameTitle ? before.since : new Date(clock.wallMs()).toISOString() });
    if (before?.status === next.status && before.reason === next.reason) return;
    if (before !== undefined) info.remove({ type: before.type, reason: before.reason });
    info.set({ type: next.type, reason: next.reason }, 1);
    value.set({ type: next.type }, { True: 1, False: 0, Unknown: -1 }[next.status]);
    const line = `${next.type} is ${next.status} (${next.reason}): ${next.message}`;
    if (next.status === "False") {
      log.warn({ event: "condition-failed", condition: next, runbook: `docs/runbooks/${findRunbook(next)}` }, line);
    } else {
      const event = next.status === "True" ? "condition-recovered" : "condition-unknown";
      log.info({ event, condition: next }, line);
    }
    const reasons = (isSameTitle ? reported.get(next.type) : undefined) ?? new Set();
    if ((before !== undefined || next.status === "False") && !reasons.has(next.reason)) events.add("condition", line);
    reported.set(next.type, reasons.add(next.reason));
  };
  const list = () => conditionTypes.flatMap((type) => current.get(type) ?? []);
  return { set, get: (type) => current.get(type), list };
}
