import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { readRuleGroups, renderRuleFile, renderRuleResource, type Alert } from "#infra/observability/rules.ts";
import { target, trouble, type AlertCase } from "./alert-case.ts";
import { alerts as runbooks, listAlertRules, ruleGroups } from "./committed-rules.ts";
import { gatewayCases } from "./gateway-cases.ts";
import { nodeCases } from "./node-cases.ts";
import { paymentCases } from "./payment-cases.ts";
import { hasPromtool, runPromtool, withoutPromtool } from "../support/prometheus/promtool.ts";
import { serviceCases } from "./service-cases.ts";
import { listUnknownNames } from "./unknown-names.ts";
import { upkeepCases } from "./upkeep-cases.ts";
import { versionCases } from "./version-cases.ts";

const runbookBaseUrl = "https://runbooks.example/gatehouse/";
/** The rules of a stack that sets its own runbooks URL. */
const groups = readRuleGroups({ runbookBaseUrl });
const alerts = listAlertRules(groups);
const cases = [...nodeCases, ...upkeepCases, ...serviceCases, ...versionCases, ...gatewayCases, ...paymentCases];

function definitionOf({ alert: name, severity }: AlertCase): Alert {
  const found = alerts.filter(
    ({ alert, labels }) => alert === name && (severity ?? labels.severity) === labels.severity,
  );
  const [one, other] = found;
  if (one === undefined || other !== undefined) throw new Error(`expected exactly one rule for ${name} ${severity}`);
  return one;
}

/** An alert's description as operators see it, with its labels and the results of its queries. */
function shownDescription({ annotations }: Alert, { series, labels = target }: AlertCase): string {
  const command = /command="([^"]*)"/.exec(series.map(([selector]) => selector).join(" "))?.[1] ?? "";
  return annotations.description
    .replace(/\{\{ with .*\{\{ end \}\}/, command)
    .replaceAll(
      /\{\{ \$labels\.(\w+) \}\}/g,
      (_, label: string) => (labels as Readonly<Record<string, string>>)[label] ?? "",
    );
}

/** Only the alert's own rules: itself, and its recordings. */
function rulesOf(one: AlertCase): string {
  const definition = definitionOf(one);
  const own = groups
    .filter(({ rules }) => rules.includes(definition))
    .map(({ name, rules }) => {
      const neededRules = rules.filter((rule) => "record" in rule && definition.expr.includes(rule.record));
      return { name, rules: [...neededRules, definition] };
    });
  return renderRuleFile(own);
}

function inputs(series: AlertCase["series"]) {
  return series.map(([selector, values]) => ({ series: selector, values }));
}

/** A case as promtool's test file. */
function testFile(one: AlertCase, rulesFile: string): string {
  const definition = definitionOf(one);
  const interval = `${one.stepMinutes ?? 1}m`;
  const firing = {
    exp_labels: { ...definition.labels, ...(one.labels ?? target) },
    exp_annotations: {
      summary: one.summary,
      description: shownDescription(definition, one),
      runbook_url: `${runbookBaseUrl}${runbooks.get(one.alert)}`,
    },
  };
  const look = (minute: number, expected: readonly object[]) => ({
    eval_time: `${minute}m`,
    alertname: one.alert,
    exp_alerts: expected,
  });
  return stringify({
    rule_files: [rulesFile],
    evaluation_interval: interval,
    tests: [
      {
        interval,
        input_series: inputs(one.series),
        alert_rule_test: [
          ...one.silentAt.map((minute) => look(minute, [])),
          look(one.firesAt, [firing]),
          look(one.resolvedAt ?? trouble.to + 1, []),
        ],
      },
      {
        interval,
        input_series: inputs(one.nearMiss.series),
        alert_rule_test: one.nearMiss.silentAt.map((minute) => look(minute, [])),
      },
    ],
  });
}

describe("the alerting rules", () => {
  it("use only exposed metrics, labels and values, and existing recordings, as do their cases", () => {
    const texts = ruleGroups.flatMap(({ rules }) =>
      rules.flatMap((rule) => [rule.expr, ...("alert" in rule ? Object.values(rule.annotations) : [])]),
    );
    const selectors = cases.flatMap((one) => [...one.series, ...one.nearMiss.series].map(([selector]) => selector));
    expect([...texts, ...selectors].flatMap(listUnknownNames)).toEqual([]);
    expect(
      listUnknownNames('gatehouse_node_up{tier="x"} or gatehouse_nod_up or gatehouse_condition{type="X"}'),
    ).toEqual(['gatehouse_node_up{tier="x"}', "gatehouse_nod_up", 'gatehouse_condition{type="X"}']);
  });

  it("have a duration, a summary with a value or label, a description and a runbook", () => {
    const poor = alerts.filter(({ alert, annotations: { summary, description, runbook_url }, ...rule }) => {
      const page = alert
        .slice("Gatehouse".length)
        .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-")
        .toLowerCase();
      return (
        !/^\d+[mh]$/.test(rule.for) ||
        !/\{\{ \$(?:value|labels)/.test(summary) ||
        description.length < 40 ||
        description.includes("$value") ||
        runbook_url !== `${runbookBaseUrl}${page}.md`
      );
    });
    expect(poor.map(({ alert }) => alert)).toEqual([]);
    // An alert with two severities is two rules.
    expect(new Set(alerts.map(({ alert, labels }) => `${alert} ${labels.severity}`)).size).toBe(alerts.length);
  });

  it("are also committed as a PrometheusRule", () => {
    const path = join(import.meta.dirname, "../../infra/observability/rules/prometheus-rule-resource.yaml");
    expect(readFileSync(path, "utf8")).toBe(renderRuleResource(ruleGroups));
  });

  it("each have a case that fires", () => {
    const tried = new Set(cases.map(definitionOf));
    expect(alerts.filter((alert) => !tried.has(alert))).toEqual([]);
  });
});

describe.skipIf(!hasPromtool)(`promtool${withoutPromtool}`, () => {
  it("accepts the rule file", () => {
    const { status, output } = runPromtool(["check", "rules", "rules.yaml"], { "rules.yaml": renderRuleFile(groups) });
    expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });

  // A single run for all cases, because most of the time is spent starting promtool.
  const outputs = new Map<string, string>();
  let all = "";
  beforeAll(() => {
    if (!hasPromtool) return;
    const tests = cases.map((_, at) => `test-${at}.yaml`);
    const tried = cases.flatMap((one, at) => [
      [`rules-${at}.yaml`, rulesOf(one)],
      [`test-${at}.yaml`, testFile(one, `rules-${at}.yaml`)],
    ]);
    all = runPromtool(["test", "rules", ...tests], Object.fromEntries(tried)).output;
    for (const part of all.split("Unit Testing:").slice(1)) {
      const [name = "", ...said] = part.split("\n");
      outputs.set(name.trim(), said.join("\n").trim());
    }
  });

  it.each(cases.map((one, at) => [`${one.alert}${one.of === undefined ? "" : `: ${one.of}`}`, at] as const))(
    "evaluates %s as firing only when expected, and not for near misses",
    (_, at) => {
      expect(outputs.get(`test-${at}.yaml`) ?? all).toBe("SUCCESS");
    },
  );
});
