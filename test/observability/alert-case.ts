import type { Alert } from "#infra/observability/rules.ts";

type Severity = Alert["labels"]["severity"];

/** The scrape target of every case. */
export const target = { job: "gatehouse", instance: "node-7:9100" } as const;

/** One series of a case: its selector, and its values as promtool writes them. */
export type InputSeries = readonly [selector: string, values: string];

/** A test case of an alert, which must fire during the fault, not before and not after. Times in minutes. */
export type AlertCase = Readonly<{
  alert: `Gatehouse${string}`;
  /** Severity of the rule under test, for an alert that has two. */
  severity?: Severity;
  /** Name of the case, if the alert has several. */
  of?: string;
  series: readonly InputSeries[];
  silentAt: readonly number[];
  firesAt: number;
  /** Time at which the alert no longer fires. Default: just after `trouble`. */
  resolvedAt?: number;
  /** Labels in addition to the severity; by default the target's. */
  labels?: Readonly<Record<string, string>>;
  summary: string;
  /** Minutes between two samples and between two evaluations; default 1. */
  stepMinutes?: number;
  /** Series that resemble the fault but are harmless, and the times at which the alert must not fire. */
  nearMiss: Readonly<{ series: readonly InputSeries[]; silentAt: readonly number[] }>;
}>;

/** Period with a different value, and the end of the series, in steps from the start. */
export type Span = Readonly<{ from: number; to: number; end: number }>;

export const trouble: Span = { from: 10, to: 60, end: 90 };

/** Builds a series of the case's target. */
export function buildSample(name: string, labels: Readonly<Record<string, string>>, values: string): InputSeries {
  const shown = Object.entries({ ...target, ...labels }).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return [`${name}{${shown.join(",")}}`, values];
}

/** Prometheus's own `up` of the case's target. */
export function buildUpSample(values: string): InputSeries {
  return buildSample("up", {}, values);
}

/**
 * Builds a series that has one value, another during the fault, and then the first again. `_`: no series, as after a target has
 * disappeared.
 */
export function buildPhases(usual: string, bad: string, { from, to, end }: Span = trouble): string {
  // For a value, promtool's `1x9` are ten samples; for a gap, `_x9` are nine.
  if (usual === "_") return `_x${from} ${bad}x${to - from - 1} stale`;
  const during = bad === "_" ? `stale _x${to - from - 1}` : `${bad}x${to - from - 1}`;
  return `${usual}x${from - 1} ${during} ${usual}x${end - to}`;
}

/** Builds a condition that is not True, for a given reason, during a span. */
export function buildWrong(type: string, reason: string, span: Span = trouble): readonly InputSeries[] {
  return [
    buildSample("gatehouse_condition", { type }, buildPhases("1", "0", span)),
    buildSample("gatehouse_condition_info", { type, reason }, buildPhases("_", "1", span)),
  ];
}

/** Builds the metrics of an upgrade that is in progress during a period. */
export function buildUpgrading(span: Span): InputSeries {
  return buildSample(
    "gatehouse_condition_info",
    { type: "UpgradeVerified", reason: "Upgrading" },
    buildPhases("_", "1", span),
  );
}

/**
 * Builds a case of an alert based on a condition: it fires if the condition is not True for at least the alert's `for`, but not if for a
 * shorter time.
 */
export function buildConditionCase({
  alert,
  severity,
  type,
  reason,
  forMinutes,
  summary,
  ...more
}: Readonly<{
  alert: AlertCase["alert"];
  severity?: Severity;
  type: string;
  reason: string;
  forMinutes: number;
  summary: string;
  labels?: Readonly<Record<string, string>>;
  others?: readonly InputSeries[];
}>): AlertCase {
  const { from, end } = trouble;
  const otherInputSeries = more.others ?? [];
  const short = buildWrong(type, reason, { from, to: from + Math.max(1, forMinutes - 1), end });
  return {
    alert,
    ...(severity === undefined ? {} : { severity }),
    of: reason,
    series: [...buildWrong(type, reason), ...otherInputSeries],
    silentAt: [from - 1, from + forMinutes - 1],
    firesAt: from + forMinutes + 1,
    labels: { ...target, ...more.labels },
    summary,
    nearMiss: {
      series: [...short, ...otherInputSeries],
      silentAt: [from + forMinutes, from + forMinutes + 1, end - 1],
    },
  };
}
