import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { nameRunbookFile, type Alert } from "#infra/observability/alert.ts";
import { metricCatalogue } from "#infra/observability/metric-catalogue.ts";
import { renderGroups, renderRuleFiles } from "#infra/observability/rule-files.ts";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import type { AlertCase } from "./alert-case.ts";
import { gatewayCases } from "./gateway-cases.ts";
import { nodeCases } from "./node-cases.ts";
import { paymentCases } from "./payment-cases.ts";
import { hasPromtool, runPromtool, withoutPromtool } from "../support/prometheus/promtool.ts";
import { serviceCases } from "./service-cases.ts";
import { upkeepCases } from "./upkeep-cases.ts";
import { versionCases } from "./version-cases.ts";

const runbookBaseUrl = "https://runbooks.example/gatehouse/";
const files = renderRuleFiles(ruleGroups, { runbookBaseUrl });
const alerts = ruleGroups.flatMap((group) => group.alerts);
const cases = [...nodeCases, ...upkeepCases, ...serviceCases, ...versionCases, ...gatewayCases, ...paymentCases];

function definitionOf({ alert: name, severity }: AlertCase): Alert {
  const found = alerts.filter((alert) => alert.name === name && (severity ?? alert.severity) === alert.severity);
  const [one, other] = found;
  if (one === undefined || other !== undefined) throw new Error(`not one rule for ${name} ${severity}`);
  return one;
}

/** The description as an operator reads it: with this alert's labels, and the results of its queries. */
function shownDescription({ description }: Alert, { series, labels }: AlertCase): string {
  const command = /command="([^"]*)"/.exec(series.map(([selector]) => selector).join(" "))?.[1] ?? "";
  return description
    .replace(/\{\{ with .*\{\{ end \}\}/, command)
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels?.[label] ?? "");
}

/** Only the alert's own rules: itself, and its recordings. */
function rulesOf(one: AlertCase): string {
  const definition = definitionOf(one);
  const groups = ruleGroups.flatMap((group) => {
    const own = group.alerts.filter((alert) => alert === definition);
    const recordings = group.recordings.filter(({ record }) => own.some(({ expr }) => expr.includes(record)));
    return own.length === 0 ? [] : [{ ...group, recordings, alerts: own }];
  });
  return stringify({ groups: renderGroups(groups, { runbookBaseUrl }) });
}

function inputs(series: AlertCase["series"]) {
  return series.map(([selector, values]) => ({ series: selector, values }));
}

/** A case as promtool's test file. */
function testFile(one: AlertCase, rulesFile: string): string {
  const definition = definitionOf(one);
  const interval = `${one.stepMinutes ?? 1}m`;
  const firing = {
    exp_labels: { severity: definition.severity, ...one.labels },
    exp_annotations: {
      summary: one.summary,
      description: shownDescription(definition, one),
      runbook_url: runbookBaseUrl + nameRunbookFile(definition.name),
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
          look(one.resolvedAt, []),
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

describe("the rules", () => {
  it("name no metric that no service exposes, and no recording that is not made", () => {
    const recorded = new Set<string>(ruleGroups.flatMap(({ recordings }) => recordings.map(({ record }) => record)));
    const known = (name: string) =>
      recorded.has(name) || name in metricCatalogue || name.replace(/_(?:bucket|sum|count)$/, "") in metricCatalogue;
    const texts = ruleGroups.flatMap((group) => [
      ...group.recordings.map(({ expr }) => expr),
      ...group.alerts.flatMap(({ expr, summary, description }) => [expr, summary, description]),
    ]);
    const named = texts.flatMap((text) => text.match(/\bgatehouse[_:][\w:]+/g) ?? []);
    expect(named.length).toBeGreaterThan(alerts.length);
    expect(named.filter((name) => !known(name))).toEqual([]);
  });

  it("say of each alert how bad it is, for how long it has to last, and with which value", () => {
    const poor = alerts.filter(
      ({ name, summary, description, ...alert }) =>
        !/^\d+[mh]$/.test(alert.for) ||
        !/\{\{ \$(?:value|labels)/.test(summary) ||
        description.length < 40 ||
        nameRunbookFile(name) === ".md",
    );
    expect(poor.map(({ name }) => name)).toEqual([]);
    // An alert with two severities is two rules.
    expect(new Set(alerts.map(({ name, severity }) => `${name} ${severity}`)).size).toBe(alerts.length);
  });

  it("are committed as they are made, in each form", () => {
    const committed = renderRuleFiles(ruleGroups, { runbookBaseUrl: "https://gatehouse.example/docs/runbooks" });
    const folder = join(import.meta.dirname, "../../infra/observability/generated");
    for (const [name, text] of Object.entries(committed)) expect(readFileSync(join(folder, name), "utf8")).toBe(text);
  });

  it("each have a case in which they fire", () => {
    const tried = new Set(cases.map(definitionOf));
    expect(alerts.filter((alert) => !tried.has(alert))).toEqual([]);
  });
});

describe.skipIf(!hasPromtool)(`in promtool${withoutPromtool}`, () => {
  it("the rule file and both files of the mixin are good", () => {
    for (const name of ["prometheus-rules.yaml", "mixin/prometheus_alerts.yaml", "mixin/prometheus_rules.yaml"]) {
      const { status, output } = runPromtool(["check", "rules", "rules.yaml"], { "rules.yaml": files[name] ?? "" });
      expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
    }
  });

  // One run for all cases: starting promtool takes most of each one's time.
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
    "%s fires, and is silent before, after, and at what is like it",
    (_, at) => {
      expect(outputs.get(`test-${at}.yaml`) ?? all).toBe("SUCCESS");
    },
  );
});
