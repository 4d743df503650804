import type { ConditionReport } from "#status/condition.ts";
import type { DiskForecast } from "./disk-forecast.ts";

/** One look at the disk of a path. */
export type DiskLook = Readonly<{ path: string; usedBytes: number; freeBytes: number }>;

/** What counts as space enough. */
export type DiskLimits = Readonly<{
  /** Share of the disk that has to be free. */
  freeRatio: number;
  /** A disk that is forecast to be full sooner is wrong; 0: a forecast never is. */
  fullWithinSeconds: number;
}>;

/** Says whether a disk has space, now and at its slope. Pure. */
export function diskCondition(
  { path, usedBytes, freeBytes }: DiskLook,
  forecast: DiskForecast | undefined,
  limits: DiskLimits,
): ConditionReport<"DiskSpaceLeft"> {
  const type = "DiskSpaceLeft";
  const ratio = freeBytes / Math.max(1, usedBytes + freeBytes);
  const free = `${(freeBytes / 2 ** 30).toFixed(1)} GiB (${(ratio * 100).toFixed(0)} %) are free at ${path}.`;
  const slope =
    forecast === undefined
      ? ""
      : ` At the slope of the last ${time(forecast.seenSeconds)} it is full in ${time(forecast.fullInSeconds)}.`;
  const advice = " Make the disk larger, or see that auto-pruning is on and advances.";
  if (ratio < limits.freeRatio) {
    return { type, status: "False", reason: "Low", message: `${free}${slope}${advice}` };
  }
  if (forecast !== undefined && forecast.fullInSeconds < limits.fullWithinSeconds) {
    return { type, status: "False", reason: "FullSoon", message: `${free}${slope}${advice}` };
  }
  return { type, status: "True", reason: "Enough", message: `${free}${slope}` };
}

function time(seconds: number): string {
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${(seconds / 3_600).toFixed(1)} hours` : `${(seconds / 86_400).toFixed(1)} days`;
}
