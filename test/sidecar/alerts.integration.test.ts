import { expect, test } from "vitest";
import { stringify } from "yaml";
import { renderGroups, renderRuleFile } from "#infra/observability/rule-files.ts";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { runSidecar } from "#sidecar/testing/run-sidecar.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { hasPromtool, runPromtool, withoutPromtool } from "../support/prometheus/promtool.ts";

const runbookBaseUrl = "https://runbooks.example";
const rules = renderRuleFile(renderGroups(ruleGroups, { runbookBaseUrl }));
const target = { job: "sidecar", instance: "node-7:9600" };

/** Promtool's clock begins at 0, which the rules take for never; so this is when the scrape was, by that clock. */
const scrapeSeconds = 5;

/** A scrape as promtool's tests take it, each series standing still for an hour. */
function inputSeries(scrape: string, atSeconds: number) {
  return scrape
    .split("\n")
    .filter((line) => line.startsWith("gatehouse_"))
    .map((line) => {
      const end = line.lastIndexOf(" ");
      const [, name = "", labels = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(line.slice(0, end)) ?? [];
      const own = [`job="${target.job}",instance="${target.instance}"`, ...(labels === "" ? [] : [labels])].join(",");
      const value = Number(line.slice(end + 1));
      const shown = name.includes("timestamp") ? value - atSeconds + scrapeSeconds : value;
      return { series: `${name}{${own}}`, values: `${shown}x60` };
    });
}

test.skipIf(!hasPromtool)(
  `alerts fire on the metrics of a sidecar that stopped looking and of a node that is down${withoutPromtool}`,
  async () => {
    await using node = await createFakeNode();
    await using running = await runSidecar(node.workspace, {
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    });
    const scrape = await until("the node is reported down, and was looked at", generousMs, async () => {
      const text = await (await fetch(`${running.urls["sidecar"]}/metrics`)).text();
      const isReported =
        text.includes('gatehouse_verdict{level="down"} 1') && /^gatehouse_reconciles_total [1-9]/m.test(text);
      return isReported && text;
    });
    const alerts = [
      {
        name: "GatehouseReconcileStopped",
        before: "2m",
        at: "4m",
        severity: "critical",
        page: "reconcile-stopped.md",
        says: /^The sidecar node-7:9600 has not completed a reconcile for 3m \d+s\.$/,
      },
      {
        name: "GatehouseNodeDown",
        before: "2m",
        at: "4m",
        severity: "critical",
        page: "node-down.md",
        says: /^The node behind node-7:9600 is not responding \(0 of 1\): ConnectionRefused\.$/,
      },
      {
        name: "GatehouseConditionFalse",
        before: "14m",
        at: "16m",
        severity: "warning",
        page: "condition-false.md",
        says: /^The sidecar node-7:9600 reports its node as down \(1 of 1\)\.$/,
      },
    ];
    const silent = alerts.map(({ name, before }) => ({ eval_time: before, alertname: name, exp_alerts: [] }));
    const story = { interval: "1m", input_series: inputSeries(scrape, Date.now() / 1_000), alert_rule_test: silent };
    const quiet = runPromtool(["test", "rules", "test.yaml"], {
      "rules.yaml": rules,
      "test.yaml": stringify({ rule_files: ["rules.yaml"], tests: [story] }),
    });
    expect([quiet.status, quiet.output]).toEqual([0, expect.stringContaining("SUCCESS")]);
    for (const { name, at, severity, page, says } of alerts) {
      // Expected to be silent where it fires, promtool prints what it fires with.
      const asked = { ...story, alert_rule_test: [{ eval_time: at, alertname: name, exp_alerts: [] }] };
      const { output } = runPromtool(["test", "rules", "test.yaml"], {
        "rules.yaml": rules,
        "test.yaml": stringify({ rule_files: ["rules.yaml"], tests: [asked] }),
      });
      expect(output).toContain(`severity="${severity}"`);
      expect(output).toContain(`runbook_url="${runbookBaseUrl}/${page}"`);
      expect(/summary="([^"]*)"/.exec(output)?.[1]).toMatch(says);
    }
  },
);
