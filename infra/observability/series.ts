import type { conditionReasons } from "#status/condition-reasons.ts";
import type { LabelOf, SeriesName } from "./series-name.ts";

/** Condition on a label: one value, one of several values, or none of several values. */
export type Matcher = string | Readonly<{ in: readonly string[] }> | Readonly<{ notIn: readonly string[] }>;

type Matchers<N extends SeriesName> = Readonly<{ [L in LabelOf<N>]?: Matcher }>;

type ConditionReasons = typeof conditionReasons;
type ConditionType = keyof ConditionReasons;

/**
 * Builds a PromQL instant selector. A name or label that no service exposes does not compile.
 *
 * @example series("gatehouse_verdict", { level: { in: ["paused", "down"] } }) // gatehouse_verdict{level=~"paused|down"}
 */
export function series<N extends SeriesName>(name: N, matchers?: Matchers<N>): string {
  return selectExternal(name, matchers ?? {});
}

/** Builds an instant selector for a metric from outside Gatehouse. */
export function selectExternal(name: string, matchers: Readonly<Record<string, Matcher | undefined>>): string {
  const shown = Object.entries(matchers).flatMap(([label, matcher]) =>
    matcher === undefined ? [] : [label + formatOperand(matcher)],
  );
  return shown.length === 0 ? name : `${name}{${shown.join(",")}}`;
}

/** Selects a condition; the value is 0 while it is false. */
export function condition(type: ConditionType): string {
  return series("gatehouse_condition", { type });
}

/** Selects a condition that is false for one of the given reasons; the value is 1 while this is the case. */
export function falseFor<T extends ConditionType>(
  type: T,
  ...reasons: readonly ConditionReasons[T]["False"][number][]
): string {
  return series("gatehouse_condition_info", { type, reason: { in: reasons } });
}

/** Selects a condition that is unknown for a given reason; the value is 1 while this is the case. */
export function unknownFor<T extends ConditionType>(type: T, reason: ConditionReasons[T]["Unknown"][number]): string {
  return series("gatehouse_condition_info", { type, reason });
}

function formatOperand(matcher: Matcher): string {
  if (typeof matcher === "string") return `=${JSON.stringify(matcher)}`;
  if ("in" in matcher) return `=~${JSON.stringify(matcher.in.join("|"))}`;
  return `!~${JSON.stringify(matcher.notIn.join("|"))}`;
}

/**
 * Builds a template that shows one label of the series with value 1 for the alert's own target, so that a changed reason does not restart
 * the alert.
 *
 * @param selector selects a series and has at least one label matcher.
 */
export function labelTemplate(selector: string, label: string): string {
  const open = selector.replace(/\}$/, ",job=%q,instance=%q} == 1");
  return `{{ with printf \`${open}\` $labels.job $labels.instance | query }}{{ . | first | label "${label}" }}{{ else }}unknown{{ end }}`;
}

/** Builds a template that shows why a condition is false. */
export function reasonTemplate(type: ConditionType): string {
  return labelTemplate(series("gatehouse_condition_info", { type }), "reason");
}
