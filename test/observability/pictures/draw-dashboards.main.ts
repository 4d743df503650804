import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { findChromium, startChromium } from "../../support/page/chromium.ts";
import type { StackPorts } from "../../support/running-stack.ts";
import { compressRules } from "../live/compressed-rules.ts";
import type { ScrapedJobs } from "../../support/prometheus/prometheus.ts";
import { startWatchedStack } from "../live/watched-stack.ts";
import { readDashboardData } from "./dashboard-data.ts";
import { pageWidth, renderDashboardPage } from "./dashboard-page.ts";
import { runScene, sceneSeconds } from "./dashboard-scene.ts";
import { readWrittenDashboards } from "./written-dashboard.ts";

/**
 * Draws the pictures of the dashboards for docs/observability.md: `npm run pictures:dashboards`. Runs a stack and a
 * Prometheus that scrapes it every second, with the rules' minutes as seconds, and some minutes of traffic and faults.
 * Then it sends each query of Grafana's dashboards to Prometheus, and draws the results where Grafana would. Needs
 * Chromium and Prometheus on PATH.
 */
const folder = join(import.meta.dirname, "../../../docs/pictures");
const bytesMax = 300_000;
const scale = 60;
const stepSeconds = 4;
/** The first rates need a few scrapes. */
const settleSeconds = 20;

const executablePath = findChromium();
if (executablePath === undefined) throw new Error("no Chromium on PATH; on Debian: apt-get install chromium");

/** Jobs and instances as in a stack on Docker. */
const nameJobs = (ports: StackPorts): ScrapedJobs => ({
  "gatehouse/sidecar": [{ address: `127.0.0.1:${ports.sidecar}`, instance: "sidecar:9600" }],
  "gatehouse/facilitator": [{ address: `127.0.0.1:${ports.facilitatorOperations}`, instance: "facilitator:9602" }],
  "gatehouse/resource-server": [
    { address: `127.0.0.1:${ports.resourceServerOperations}`, instance: "resource-server:9601" },
  ],
});

await using stack = await startWatchedStack({ rules: compressRules(ruleGroups, scale), scale, nameJobs });
const to = await runScene(stack);

await using chromium = await startChromium(executablePath);
await mkdir(folder, { recursive: true });
const range = { from: to - sceneSeconds + settleSeconds, to, stepSeconds };
for (const dashboard of readWrittenDashboards()) {
  const data = await readDashboardData(stack.prometheus.url, dashboard, range);
  const page = await chromium.browser.newPage({ viewport: { width: pageWidth, height: 400 } });
  await page.setContent(renderDashboardPage(dashboard, data));
  const path = join(folder, `${dashboard.uid.replace("gatehouse", "dashboard")}.png`);
  await page.screenshot({ path, fullPage: true });
  const { size } = await stat(path);
  if (size > bytesMax) throw new Error(`${path} has ${size} bytes, more than ${bytesMax}`);
  await page.close();
}
