import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { runSidecar } from "#sidecar/testing/run-sidecar.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const isThere = spawnSync("promtool", ["--version"]).status === 0;
const skipped = isThere ? "" : " (skipped: promtool is not on PATH)";

/** The rules that the sidecar's README gives. */
async function documentedRules(): Promise<string> {
  const text = await readFile(new URL("../../sidecar/README.md", import.meta.url), "utf8");
  const block = /```yaml\n(groups:\n[\s\S]*?)```/.exec(text)?.[1];
  if (block === undefined) throw new Error("sidecar/README.md has no rules");
  return block;
}

/** Series of a scrape as promtool's tests take them, each standing still for an hour; its clock begins at the scrape. */
function inputSeries(scrape: string, atSeconds: number): string {
  const names = /^gatehouse_(upkeep_last_success_timestamp_seconds|verdict)/;
  const lines = scrape.split("\n").filter((line) => names.test(line));
  return lines
    .map((line) => {
      const end = line.lastIndexOf(" ");
      const value = Number(line.slice(end + 1));
      const shown = line.includes("timestamp") ? value - atSeconds : value;
      return `      - series: '${line.slice(0, end)}'\n        values: '${shown}x60'\n`;
    })
    .join("");
}

test.skipIf(!isThere)(
  `the documented alerts fire on the metrics of a sidecar that stopped looking and of a node that is down${skipped}`,
  async () => {
    await using node = await createFakeNode();
    await using running = await runSidecar(node.workspace, {
      GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2",
    });
    const scrape = await until("the node is told to be down, and was looked at", 20_000, async () => {
      const text = await (await fetch(`${running.urls["sidecar"]}/metrics`)).text();
      const isTold =
        text.includes('gatehouse_verdict{level="down"} 1') && /^gatehouse_upkeep_passes_total [1-9]/m.test(text);
      return isTold && text;
    });
    const directory = await mkdtemp(join(tmpdir(), "gatehouse-alerts-"));
    try {
      await writeFile(join(directory, "rules.yml"), await documentedRules());
      await run("promtool", ["check", "rules", "rules.yml"], { cwd: directory });
      const alerts = [
        {
          name: "GatehouseNotLookedAfter",
          before: "2m",
          at: "4m",
          labels: "{}",
          says: "The sidecar has made no whole pass for two minutes; its page says why.",
        },
        {
          name: "GatehouseNotRight",
          before: "14m",
          at: "16m",
          labels: "{ level: down }",
          says: "The node is down; the sidecar's page says what to do.",
        },
      ];
      const cases = alerts.flatMap(({ name, before, at, labels, says }) => [
        `      - eval_time: ${before}\n        alertname: ${name}\n        exp_alerts: []\n`,
        `      - eval_time: ${at}\n        alertname: ${name}\n        exp_alerts:\n          - exp_labels: ${labels}\n            exp_annotations: { summary: ${JSON.stringify(says)} }\n`,
      ]);
      const text = `rule_files: [rules.yml]\ntests:\n  - interval: 1m\n    input_series:\n${inputSeries(scrape, Date.now() / 1_000)}    alert_rule_test:\n${cases.join("")}`;
      await writeFile(join(directory, "test.yml"), text);
      const tested = spawnSync("promtool", ["test", "rules", "test.yml"], { cwd: directory, encoding: "utf8" });
      expect([tested.status, tested.stderr + tested.stdout]).toEqual([0, expect.stringContaining("SUCCESS")]);
    } finally {
      await rm(directory, { recursive: true });
    }
  },
);
