import type { RuleGroup } from "#infra/observability/rules.ts";

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Ranges, subquery steps and offsets of PromQL; not the windows in recording names. */
const durations = /(?<=[[:]|offset )\d+[smhd](?=[\]:\s]|$)/g;
/** A day in seconds, as in the rules' forecasts. */
const dayOfSeconds = /\b86400\b/g;

/**
 * Returns the same rules with every duration divided by `scale`: ranges, offsets, `for`, and the days of forecasts. With 60, a
 * minute of the rules takes a second. Values that a rule compares with a clock (delays, drift) stay unchanged, because
 * services measure them in real seconds.
 */
export function compressRules(groups: readonly RuleGroup[], scale: number): readonly RuleGroup[] {
  const compress = (duration: string) => compressDuration(duration, scale);
  return groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => {
      const expr = rule.expr.replace(durations, compress).replace(dayOfSeconds, String(86_400 / scale));
      return "alert" in rule ? { ...rule, expr, for: compress(rule.for) } : { ...rule, expr };
    }),
  }));
}

/** @throws {Error} if a duration is not one number and one unit. */
function compressDuration(duration: string, scale: number): string {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  if (count === undefined || unit === undefined) throw new Error(`${duration} is not a duration such as 5m`);
  return `${Math.round((Number(count) * unitMs[unit as keyof typeof unitMs]) / scale)}ms`;
}
