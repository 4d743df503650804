import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { renderDashboards } from "./dashboards.ts";
import { placeholderRunbooks, readRuleGroups, renderRuleFile, renderRuleResource } from "./rules.ts";

/**
 * `npm run rules -- --out <directory> [--runbook-base-url <URL>] [--logs-url <URL>]`: writes the rules and dashboards with these links.
 * Without `--out`, writes the repository's own PrometheusRule.
 */
const { values } = parseArgs({
  options: {
    "runbook-base-url": { type: "string", default: placeholderRunbooks },
    "logs-url": { type: "string" },
    out: { type: "string" },
  },
});
const links = { runbookBaseUrl: values["runbook-base-url"], logsUrl: values["logs-url"] };
const groups = readRuleGroups(links);
const resource = renderRuleResource(groups);

if (values.out === undefined) {
  await writeFile(join(import.meta.dirname, "rules/prometheus-rule-resource.yaml"), resource);
} else {
  await mkdir(join(values.out, "dashboards"), { recursive: true });
  await writeFile(join(values.out, "prometheus-rules.yaml"), renderRuleFile(groups));
  await writeFile(join(values.out, "prometheus-rule-resource.yaml"), resource);
  for (const { fileName, text } of renderDashboards(links)) {
    await writeFile(join(values.out, "dashboards", fileName), text);
  }
}
