import { afterAll, beforeAll, expect } from "vitest";
import { runSidecar, type RunningSidecar } from "#sidecar/testing/run-sidecar.ts";
import type { FakeNode } from "#sidecar/testing/fake-node.ts";
import { findChromium, useBrowser } from "../../support/page/chromium.ts";
import { startOwnedNode } from "../../support/node/owned-node.ts";
import { expectWellMade, openHealthyPage, openStatusPage, waitForLevel } from "../../support/page/status-page.ts";

const { browser, browserTest, skipped } = useBrowser();

const resources = new AsyncDisposableStack();
let node: FakeNode;
let sidecar: RunningSidecar;

beforeAll(async () => {
  if (findChromium() === undefined) return;
  node = resources.use(await startOwnedNode("node-7"));
  const environment = {
    GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
    GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "node-7",
    GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "250",
  };
  sidecar = resources.use(await runSidecar(node, environment));
});

afterAll(() => resources.disposeAsync());

browserTest(`shows a healthy node as healthy, and updates itself${skipped}`, async () => {
  await using seen = await openHealthyPage(browser(), sidecar.urls["sidecar"]!);
  await expectWellMade(seen.page, "healthy");
  expect(seen.complaints()).toEqual([]);
});

browserTest(`shows a corrected manual edit of node.conf with its change, reason and time${skipped}`, async () => {
  await using seen = await openStatusPage(browser(), sidecar.urls["sidecar"]!);
  const { page } = seen;
  await waitForLevel(page, "healthy", 60_000);
  const right = await node.config();
  await node.save(right.replaceAll("storage_cetina_job_name", "pamir_cetina_job_name"));
  const change = page.locator("#changes li", { hasText: "renamed to" }).first();
  await change.waitFor();
  expect(await change.innerText()).toMatch(
    /^\d\d:\d\d:\d\d\s+write\s+node\.conf: pamir_cetina_job_name renamed to storage_cetina_job_name\.\s+Why: node .*0\.16\.2 reads the storage_\* names \(0\.16\.0 and later\)$/,
  );
  await waitForLevel(page, "healthy", 60_000);
  // The node was already running before the drift: it has read the corrected file again.
  await page.locator("#changes li", { hasText: "No restart is needed" }).first().waitFor();
  expect(await node.config()).toBe(right);
  await expectWellMade(page, "corrected");
  expect(seen.complaints()).toEqual([]);
});

browserTest(`makes every link reachable by keyboard, with a visible focus${skipped}`, async () => {
  await using seen = await openStatusPage(browser(), sidecar.urls["sidecar"]!);
  const { page } = seen;
  await waitForLevel(page, "healthy", 60_000);
  const reached: string[] = [];
  const label = "document.activeElement.getAttribute('href') ?? document.activeElement.getAttribute('aria-label')";
  while (reached.at(-1) !== "/runbooks/README.md" && reached.length < 30) {
    await page.keyboard.press("Tab");
    const target = `(document.activeElement.closest("label") ?? document.activeElement)`;
    expect(await page.evaluate(`getComputedStyle(${target}).outlineStyle`)).toBe("solid");
    reached.push(await page.evaluate<string>(`${label} ?? document.activeElement.id`));
  }
  expect(reached.filter(Boolean)).toEqual([
    "Blocks per minute",
    "RPC latency",
    "Requests per second",
    "Pruning backlog",
    "checks-summary",
    "/status",
    "/metrics",
    "/readyz",
    "/openapi.json",
    "/runbooks/README.md",
  ]);
});
