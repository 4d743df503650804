import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { renderDashboards } from "./dashboards/grafana.ts";
import { dashboards } from "./dashboards/all-dashboards.ts";
import { renderPodRelabelling, renderRuleFiles } from "./rule-files.ts";
import { placeholderRunbooks } from "./alert.ts";
import { ruleGroups } from "./rules/all-rules.ts";

const { values } = parseArgs({
  options: {
    "runbook-base-url": { type: "string", default: placeholderRunbooks },
    "logs-url": { type: "string" },
    out: { type: "string", default: join(import.meta.dirname, "generated") },
  },
});
const links = { runbookBaseUrl: values["runbook-base-url"], logsUrl: values["logs-url"] };
const files = {
  ...renderRuleFiles(ruleGroups, links),
  ...renderDashboards(dashboards, links),
  "pod-relabelling.yaml": renderPodRelabelling(),
};
for (const [name, text] of Object.entries(files)) {
  const path = join(values.out, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}
