import { limitNames, type CallOutcome } from "#gateway/observe/meter.ts";
import { metricCatalogue } from "./metric-catalogue.ts";
import { serviceLabel } from "#infra/observability/scrape-config.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { verdictLevels } from "#status/verdict.ts";
import { alerts, ruleGroups } from "./committed-rules.ts";

const recordings = new Set<string>(
  ruleGroups.flatMap(({ rules }) => rules.flatMap((rule) => ("record" in rule ? [rule.record] : []))),
);
const callOutcomes: Readonly<Record<CallOutcome, true>> = {
  gateway: true,
  cache: true,
  coalesced: true,
  node: true,
  rejected: true,
  limited: true,
  overload: true,
  failed: true,
  cancelled: true,
};

/** Labels that Prometheus sets. */
const targetLabels = new Set(["job", "instance", serviceLabel]);
const selector = /\b(gatehouse[_:][\w:]+)(?:\{([^}]*)\})?/g;
const matcher = /(\w+)(?:=~|!~|!=|=)"([^"]*)"/g;
const histogramSeries = /_(bucket|sum|count)$/;

/** Returns the values that services set for a label; undefined if they are not listed anywhere. */
function listValues(
  metric: string,
  label: string,
  matchers: ReadonlyMap<string, string>,
): readonly string[] | undefined {
  if (metric === "gatehouse_verdict") return verdictLevels;
  if (label === "type") return Object.keys(conditionReasons);
  if (label === "limit") return limitNames;
  if (label === "outcome" && metric.startsWith("gatehouse_gateway_call")) return Object.keys(callOutcomes);
  if (label !== "reason" || !metric.startsWith("gatehouse_condition")) return undefined;
  const found = Object.entries(conditionReasons).find(([type]) => type === matchers.get("type"));
  return Object.values(found?.[1] ?? {}).flat();
}

/**
 * Lists the metrics, recordings, labels, conditions, reasons, levels, outcomes and limits in expressions or templates that no service
 * exposes, and alerts that do not exist.
 */
export function listUnknownNames(text: string): readonly string[] {
  const unknownAlerts = [...text.matchAll(/\bGatehouse[A-Z]\w+/g)]
    .map(([name]) => name)
    .filter((name) => !alerts.has(name));
  const unknown = [...text.matchAll(selector)].flatMap(([whole, name = "", inside = ""]) => {
    if (recordings.has(name)) return [];
    const isSeries = histogramSeries.test(name) && metricCatalogue[name] === undefined;
    const metric = metricCatalogue[isSeries ? name.replace(histogramSeries, "") : name];
    if (metric === undefined || isSeries !== (metric.type === "histogram")) return [name];
    const matchers = new Map([...inside.matchAll(matcher)].map(([, label = "", value = ""]) => [label, value]));
    return [...matchers].flatMap(([label, value]) => {
      const isKnown = targetLabels.has(label) || metric.labelNames.includes(label) || (label === "le" && isSeries);
      const values = targetLabels.has(label) ? undefined : listValues(name, label, matchers);
      const wrong = value.split("|").filter((one) => values?.includes(one) === false);
      return isKnown && wrong.length === 0 ? [] : [whole];
    });
  });
  return [...unknownAlerts, ...unknown];
}
