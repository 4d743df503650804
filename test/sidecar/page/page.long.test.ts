import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { formatOwnCommand } from "#daemon/command-line/own-command.ts";
import type { Browser } from "playwright-core";
import { findChromium, startChromium } from "../../support/page/chromium.ts";
import { startDevnetWorkspace, type DevnetWorkspace } from "../../support/node/devnet-workspace.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { runGatehouse } from "../../support/run-command.ts";
import { startService, type ServiceProcess } from "../../support/service-process.ts";
import { expectWellMade, openHealthyPage, openStatusPage, waitForLevel } from "../../support/page/status-page.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const executablePath = findChromium();
const looking = test.skipIf(executablePath === undefined);
const skipped = executablePath === undefined ? " (skipped: no chromium on PATH)" : "";

const resources = new AsyncDisposableStack();
let browser: Browser;
let node: DevnetWorkspace;
let sidecar: ServiceProcess;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  if (executablePath === undefined) return;
  browser = resources.use(await startChromium(executablePath)).browser;
  node = resources.use(await startDevnetWorkspace("0.16.2"));
  environment = {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: node.webSocketUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "state"),
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "node-7",
    GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "20000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "8000",
    GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "1000",
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "250",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET_INTERVAL_MS: "1000",
    GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "1000",
    GATEHOUSE_SIDECAR_LISTEN_PORT: "0",
    GATEHOUSE_SIDECAR_GATEWAY_PUBLIC_PORT: "0",
  };
  sidecar = resources.use(await startService("sidecar", environment));
});

afterAll(() => resources.disposeAsync());

looking(`a node that is right: one look says so, and the page updates itself${skipped}`, async () => {
  await using seen = await openHealthyPage(browser, sidecar.urls["sidecar"]!);
  const { page } = seen;
  const chart = page.locator("#blocks-chart");
  await until("the speed is known", generousMs, async () =>
    /\n[1-9]\d*$/.test(await chart.locator("figcaption").innerText()),
  );
  expect(await chart.locator("path.line.main, circle.main").count()).toBeGreaterThanOrEqual(1);
  expect(await chart.locator("text").count()).toBeGreaterThanOrEqual(6);
  await expectWellMade(page, "healthy");
  expect(seen.complaints()).toEqual([]);
});

looking(
  `a node that does not come back: the hold is loud, names the way out, and resume ends it${skipped}`,
  async () => {
    await using seen = await openStatusPage(browser, sidecar.urls["sidecar"]!);
    const { page } = seen;
    await waitForLevel(page, "healthy", 60_000);
    const right = await readFile(node.configPath, "utf8");
    await writeFile(node.configPath, right.replace('"mygrid_conf": {', '"mygrid_conf": "a text", "was": {'));
    await waitForLevel(page, "paused", 60_000);
    expect(await page.getByRole("status").innerText()).toContain("Gatehouse makes no changes until you resume it.");
    const first = page.locator("#to-do li").first();
    await page.locator("#to-do li", { hasText: "After one more restart it is back." }).waitFor();
    const resume = `${formatOwnCommand()} resume`;
    expect(await first.innerText()).toContain(`run ${resume} when the cause is fixed.`);
    expect(await first.locator(".command code").allInnerTexts()).toContain(resume);
    await until(
      "the node serves again",
      generousMs,
      async () => (await page.title()) === "Paused after a failed restart: node-7 · Gatehouse",
    );
    expect(await page.locator("#changes li[data-event=roll-back]").first().isVisible()).toBe(true);
    await expectWellMade(page, "paused");
    expect((await runGatehouse(["resume"], environment)).status).toBe(0);
    await waitForLevel(page, "healthy", 60_000);
    expect(seen.complaints()).toEqual([]);
  },
);

looking(`a node that is down, and only observed: the page says so and what to do${skipped}`, async () => {
  const elsewhere = { ...environment, GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: join(node.workspace, "another-state") };
  const [port] = await findFreePorts(1);
  const nobody = `http://127.0.0.1:${port}`;
  await using watching = await startService("sidecar", {
    ...elsewhere,
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "observe",
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: nobody,
  });
  await using seen = await openStatusPage(browser, watching.urls["sidecar"]!);
  await waitForLevel(seen.page, "down");
  expect(await seen.page.locator("#to-do").innerText()).toContain(
    `${nobody} can't be reached (ECONNREFUSED); is the node running, and is this its address?`,
  );
  await expectWellMade(seen.page, "down");
  expect(seen.complaints()).toEqual([]);
});

looking(`a sidecar that stopped: the page says that it is old, and comes back by itself${skipped}`, async () => {
  const port = new URL(sidecar.urls["sidecar"]!).port;
  await using seen = await openStatusPage(browser, sidecar.urls["sidecar"]!);
  const { page } = seen;
  await waitForLevel(page, "healthy", 60_000);
  expect(await sidecar.end("SIGTERM")).toBe(0);
  await waitForLevel(page, "stale");
  expect(await page.getByRole("status").innerText()).toMatch(
    /^The sidecar does not answer\. What is below is old, and reconciliation has stopped: it can't be reached\. /,
  );
  expect(await page.locator("#updated").innerText()).toMatch(/^Stale: last updated at \d\d:\d\d:\d\d, \d+ s ago\.$/);
  await expectWellMade(page, "stale");
  sidecar = resources.use(await startService("sidecar", { ...environment, GATEHOUSE_SIDECAR_LISTEN_PORT: port }));
  await waitForLevel(page, "healthy", 60_000);
  expect(await page.locator("#updated").innerText()).toMatch(/^Live: updated at /);
  // The browser itself complains about each question that nobody answered, and there is nothing else.
  expect(seen.complaints().filter((words) => !words.startsWith("Failed to load resource: net::ERR_"))).toEqual([]);
});
