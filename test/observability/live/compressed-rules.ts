import type { RuleGroup } from "#infra/observability/alert.ts";

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Ranges, steps of subqueries and offsets of PromQL; not the windows in names of recordings. */
const durations = /(?<=[[:]|offset )\d+[smhd](?=[\]:\s]|$)/g;
/** A day in seconds, by which forecasts are multiplied. */
const dayOfSeconds = /\b86400\b/g;

/**
 * The same rules with every duration divided by `scale`: ranges, offsets, `for`, and the days of forecasts. With 60 a minute of the rules is a second.
 * What a rule compares with a clock (how late, how far off) stays as it is, because services measure it in true seconds.
 */
export function compressRules(groups: readonly RuleGroup[], scale: number): readonly RuleGroup[] {
  const inExpression = (expr: string) =>
    expr
      .replace(durations, (duration) => compressDuration(duration, scale))
      .replace(dayOfSeconds, String(86_400 / scale));
  return groups.map((group) => ({
    ...group,
    recordings: group.recordings.map((recording) => ({ ...recording, expr: inExpression(recording.expr) })),
    alerts: group.alerts.map((alert) => ({
      ...alert,
      expr: inExpression(alert.expr),
      for: compressDuration(alert.for, scale),
    })),
  }));
}

/** @throws {Error} at what is no duration of one number and one unit. */
function compressDuration(duration: string, scale: number): string {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  if (count === undefined || unit === undefined) throw new Error(`${duration} is not a duration such as 5m`);
  return `${Math.round((Number(count) * unitMs[unit as keyof typeof unitMs]) / scale)}ms`;
}
