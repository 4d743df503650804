import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runSidecar } from "../../support/run-sidecar.ts";
import type { ServiceInProcess } from "../../support/service-in-process.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { waitForReason, waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { findChromium, useBrowser } from "../../support/page/chromium.ts";
import { servePage } from "../../support/page/served-page.ts";
import { startOwnedNode } from "../../support/node/owned-node.ts";
import { expectWellMade, openHealthyPage, openStatusPage, waitForLevel } from "../../support/page/status-page.ts";

const { browser, browserTest, skipped } = useBrowser();

const resources = new AsyncDisposableStack();
let runbooksUrl: string;

beforeAll(async () => {
  ({ url: runbooksUrl } = resources.use(await servePage()));
});

afterAll(() => resources.disposeAsync());

describe.skipIf(findChromium() === undefined)("the page of a running sidecar", () => {
  let node: FakeNode;
  let sidecar: ServiceInProcess;

  beforeAll(async () => {
    node = resources.use(await startOwnedNode("node-7"));
    const environment = {
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
      GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "node-7",
      GATEHOUSE_SIDECAR_MONITOR_PUSH_ADDRESS: "127.0.0.1",
      GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "250",
    };
    sidecar = resources.use(await runSidecar(node, environment));
  });

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
    // The node started before the drift, so it has read the content that the correction restores.
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
});

const token = "a-token-of-thirty-two-characters-or-more";
const controlled = {
  GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
  GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "node-7",
  GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt",
  GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token,
  GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "250",
};

/** Returns whether the sidecar has left its node unchanged. */
const isUntouched = async (node: FakeNode) =>
  (await node.starts()) === 1 && !existsSync(join(node.workspace, "pruning"));

const result = (page: Page) => page.locator("#action-result");

const restart = (url: string | undefined, headers: Readonly<Record<string, string>>) =>
  fetch(`${url}/control/restart`, { method: "POST", body: "{}", headers });

/** Clicks an action and confirms it. */
async function confirmAction(page: Page, label: string): Promise<void> {
  await page.locator("#actions").getByRole("button", { name: label }).click();
  await page.locator("#confirm-yes").click();
}

browserTest(
  `adopts and restarts from the page only with the token and after confirmation${skipped}`,
  async () => {
    await using node = await createFakeNode();
    await node.start();
    await using sidecar = await runSidecar(node, controlled);
    const url = sidecar.urls["sidecar"] ?? "";
    await waitForReason(url, "NotPaused", "WaitingForApproval");
    await using seen = await openStatusPage(browser(), url);
    const { page } = seen;
    const adopt = page.locator("#actions").getByRole("button", { name: "Let Gatehouse act" });
    await adopt.click();
    expect(await result(page).innerText()).toBe("Enter the token first.");
    await page.getByLabel("Token").fill("pasted with an ellipsis\u2026");
    await adopt.click();
    expect(await result(page).innerText()).toBe("Wrong token. Nothing was changed.");
    await page.getByLabel("Token").fill(`${token}-of-another`);
    await adopt.click();
    await page.getByRole("dialog", { name: "Let Gatehouse act: node-7?" }).waitFor();
    await expectWellMade(page, "confirm");
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").isVisible()).toBe(false);
    await confirmAction(page, "Let Gatehouse act");
    await until("the token is rejected", generousMs, async () =>
      (await result(page).innerText()).startsWith("Wrong token."),
    );
    expect(await isUntouched(node)).toBe(true);

    await page.getByLabel("Token").fill(token);
    await adopt.click();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await isUntouched(node)).toBe(true);
    // The plan may change until it is approved; the page then shows the new one.
    await until("it is adopted", generousMs, async () => {
      await confirmAction(page, "Let Gatehouse act");
      const response = result(page).filter({ hasText: /Gatehouse now acts on this node|The plan has changed/ });
      return (await response.innerText()).startsWith("Gatehouse now acts on this node.");
    });
    await until("the plan's restart is complete", generousMs, async () => (await node.starts()) === 2);
    await waitUntilSettled(url);
    const { message } = await waitForReason(url, "NotPaused", "NotPaused");
    expect(message).toContain("(on the status page)");
    await expectWellMade(page, "actions");
    // The restart of the approved plan may not have finished yet.
    await until("the restart has begun", generousMs, async () => {
      await confirmAction(page, "Restart the node");
      const response = result(page).filter({ hasText: /is requested|already in progress/ });
      return (await response.innerText()).includes("is requested");
    });
    await until("the node is restarted", generousMs, async () => (await node.starts()) === 3);
    await page.locator("#changes li", { hasText: "an operator requested it" }).first().waitFor();
    await waitUntilSettled(url);
    expect(await node.starts()).toBe(3);
    expect(seen.complaints().filter((text) => !text.includes("401"))).toEqual([]);
  },
  180_000,
);

browserTest(
  `resumes from the page after a failed restart, which its events call a pause${skipped}`,
  async () => {
    await using node = await createFakeNode();
    await node.start();
    await using sidecar = await runSidecar(node, { ...controlled, GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce" });
    const url = sidecar.urls["sidecar"] ?? "";
    await waitUntilSettled(url);
    const { ops } = node.programs;
    const program = await readFile(ops);
    await writeFile(ops, "#!/bin/sh\nexit 1\n");
    await using seen = await openStatusPage(browser(), url);
    const { page } = seen;
    await page.getByLabel("Token").fill(token);
    await confirmAction(page, "Restart the node");
    await page.locator("#changes li code", { hasText: /^pause$/ }).waitFor({ timeout: generousMs });
    await writeFile(ops, program);
    await confirmAction(page, "Resume");
    await result(page).filter({ hasText: "Gatehouse acts again." }).waitFor();
    await page.locator("#changes li", { hasText: "an operator resumed on the status page" }).first().waitFor();
    await waitUntilSettled(url);
    expect(seen.complaints()).toEqual([]);
  },
  180_000,
);

test("rejects actions from pages of other sites: only the token header counts", async () => {
  await using node = await createFakeNode();
  await node.start();
  await using sidecar = await runSidecar(node, controlled);
  const url = sidecar.urls["sidecar"];
  await waitForReason(url, "NotPaused", "WaitingForApproval");
  for (const headers of [
    { "content-type": "text/plain" },
    { cookie: `token=${token}; authorization=Bearer ${token}` },
    { authorization: `Bearer ${token}x` },
  ]) {
    expect((await restart(url, headers)).status).toBe(401);
  }
  const preflight = await fetch(`${url}/control/restart`, {
    method: "OPTIONS",
    headers: { origin: "http://elsewhere.example", "access-control-request-headers": "authorization" },
  });
  expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([401, null]);
  const waits = await restart(url, { authorization: `Bearer ${token}` });
  expect(await waits.json()).toMatchObject({ result: "waits" });
  expect(await isUntouched(node)).toBe(true);
});

test("serves a runbook as text", async () => {
  const response = await fetch(`${runbooksUrl}/runbooks/node-down.md`);
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(response.headers.get("content-security-policy")).toContain("script-src 'self'; style-src 'self'");
  expect(await response.text()).toMatch(/^# The node is down\n/);
});

test("responds to an unknown runbook with not found", async () => {
  for (const name of ["nothing.md", "..%2Ffaults.md"]) {
    expect((await fetch(`${runbooksUrl}/runbooks/${name}`)).status).toBe(404);
  }
});
