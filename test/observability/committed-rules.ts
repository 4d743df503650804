import { basename } from "node:path";
import { placeholderRunbooks, readRuleGroups, type Alert, type RuleGroup } from "#infra/observability/rules.ts";

/** The repository's rules. */
export const ruleGroups = readRuleGroups({ runbookBaseUrl: placeholderRunbooks });

/** Lists the alerts of rule groups, in order; one with two severities is two rules. */
export function listAlertRules(groups: readonly RuleGroup[]): readonly Alert[] {
  return groups.flatMap(({ rules }) => rules.flatMap((rule) => ("alert" in rule ? [rule] : [])));
}

const all = listAlertRules(readRuleGroups({ runbookBaseUrl: placeholderRunbooks, watchdog: true }));

/** Each alert's runbook, including the watchdog's, by the alert's name. */
export const alerts: ReadonlyMap<string, string> = new Map(
  all.map(({ alert, annotations }) => [alert, basename(annotations.runbook_url)]),
);
