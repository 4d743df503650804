import { parseWeeklyWindow } from "#daemon/settings/weekly-window.ts";
import type { SidecarSettings } from "../../settings.ts";
import { createMaintenanceWindow, type MaintenanceWindow } from "../restart/maintenance-window.ts";
import type { ScheduledUpgrade, UpgradeStart } from "../state/scheduled-upgrade.ts";

type StartSettings = Readonly<{
  upgrade: Pick<SidecarSettings["upgrade"], "window" | "lateMs" | "lateBlocks">;
}>;

/** Facts that the start of an upgrade is judged by: the wall clock, and the last reported head. */
export type StartSituation = StartSettings & Readonly<{ nowMs: number; height: number | undefined }>;

/** Whether an upgrade may begin now; `over`: its time came and went. */
export type StartJudgement = Readonly<
  { kind: "wait"; wakeInMs?: number } | { kind: "due" } | { kind: "over"; why: string }
>;

/** Start that a person requests: now, a time, or a height; undefined leaves it to the settings. */
export type RequestedStart = "now" | Exclude<UpgradeStart, { kind: "window" }> | undefined;

/** Longest time ahead for which an upgrade may be requested. */
const aheadMaxMs = 366 * 86_400_000;

/** Resolves the start of a requested upgrade, with the problems and warnings; a start that is undefined means at once. Pure. */
export function resolveStart(
  requested: RequestedStart,
  situation: StartSituation,
): Readonly<{ start: UpgradeStart | undefined; problems: readonly string[]; warnings: readonly string[] }> {
  const { nowMs, height } = situation;
  const window = openWindow(situation);
  if (requested === "now") return { start: undefined, problems: [], warnings: [] };
  if (requested === undefined) {
    const isNow = window === undefined || window.isOpen(nowMs);
    return { start: isNow ? undefined : { kind: "window" }, problems: [], warnings: [] };
  }
  if (requested.kind === "height") {
    const isPast = height !== undefined && requested.height <= height;
    const problems = isPast ? [`block ${requested.height} is there already: the node is at ${height}`] : [];
    return { start: requested, problems, warnings: [] };
  }
  const at = new Date(requested.atMs).toISOString();
  const problems = [
    ...(requested.atMs <= nowMs
      ? [`${at} is past: it is ${new Date(nowMs).toISOString()} by the sidecar's clock`]
      : []),
    ...(requested.atMs > nowMs + aheadMaxMs ? [`${at} is more than a year ahead`] : []),
  ];
  const isOutside = window !== undefined && !window.isOpen(requested.atMs);
  const warnings = isOutside ? [`${at} is outside of upgrade.window (${situation.upgrade.window} UTC)`] : [];
  return { start: requested, problems, warnings };
}

/** Judges whether a scheduled upgrade may begin. Pure. */
export function judgeStart({ start }: Pick<ScheduledUpgrade, "start">, situation: StartSituation): StartJudgement {
  const { nowMs, height } = situation;
  const { lateMs, lateBlocks } = situation.upgrade;
  switch (start.kind) {
    case "time": {
      const lateByMs = nowMs - start.atMs;
      if (lateByMs < 0) return { kind: "wait", wakeInMs: -lateByMs };
      if (lateByMs <= lateMs) return { kind: "due" };
      return { kind: "over", why: `it could not begin within ${lateMs} ms of its time (upgrade.lateMs)` };
    }
    case "height":
      if (height === undefined || height < start.height) return { kind: "wait" };
      if (height - start.height <= lateBlocks) return { kind: "due" };
      return {
        kind: "over",
        why: `it could not begin within ${lateBlocks} blocks of its height (upgrade.lateBlocks); the node is at ${height}`,
      };
    case "window": {
      const window = openWindow(situation);
      if (window === undefined) return { kind: "over", why: "upgrade.window is not set any more" };
      if (window.isOpen(nowMs)) return { kind: "due" };
      return { kind: "wait", wakeInMs: window.opensAtMs(nowMs) - nowMs };
    }
  }
}

/** Describes the start of an upgrade, as in "at block 5". Pure. */
export function describeStart(start: UpgradeStart, situation: StartSituation): string {
  switch (start.kind) {
    case "time":
      return `at ${new Date(start.atMs).toISOString()}`;
    case "height":
      return `at block ${start.height}${situation.height === undefined ? "" : ` (the node is at ${situation.height})`}`;
    case "window": {
      const window = openWindow(situation);
      const { nowMs } = situation;
      if (window === undefined) return "in a window that upgrade.window does not name any more";
      const opens = window.isOpen(nowMs) ? "open now" : `next at ${new Date(window.opensAtMs(nowMs)).toISOString()}`;
      return `in the window ${situation.upgrade.window} UTC (${opens})`;
    }
  }
}

function openWindow({ upgrade }: StartSettings): MaintenanceWindow | undefined {
  const parsed = upgrade.window === undefined ? undefined : parseWeeklyWindow(upgrade.window);
  if (parsed === undefined) return undefined;
  const { days, beginsAt, minutes } = parsed;
  return createMaintenanceWindow({
    maintenanceCron: `${beginsAt % 60} ${Math.floor(beginsAt / 60)} * * ${days.join(",")}`,
    maintenanceMs: minutes * 60_000,
    maintenanceTimeZone: "UTC",
  });
}
