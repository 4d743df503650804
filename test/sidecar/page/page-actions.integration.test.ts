import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { runSidecar } from "#sidecar/testing/run-sidecar.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { findChromium, startChromium } from "../../support/page/chromium.ts";
import { waitForReason, waitUntilSettled } from "#sidecar/testing/sidecar-status.ts";
import { expectWellMade, openStatusPage } from "../../support/page/status-page.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

const executablePath = findChromium();
const browserTest = test.skipIf(executablePath === undefined);
const skipped = executablePath === undefined ? " (skipped: no chromium on PATH)" : "";

const token = "a-token-of-thirty-two-characters-or-more";
const controlled = {
  GATEHOUSE_SIDECAR_RESTART_DRIVER: "ops",
  GATEHOUSE_SIDECAR_MONITOR_JOB_NAME: "node-7",
  GATEHOUSE_SIDECAR_UPKEEP_MODE: "adopt",
  GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token,
  GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "250",
};

/** Whether the sidecar has changed its node. */
const isUntouched = async (node: FakeNode) =>
  (await node.starts()) === 1 && !existsSync(join(node.workspace, "pruning"));

const result = (page: Page) => page.locator("#action-result");

const restart = (url: string | undefined, headers: Readonly<Record<string, string>>) =>
  fetch(`${url}/control/restart`, { method: "POST", body: "{}", headers });

/** Clicks an action and confirms it. */
async function act(page: Page, label: string): Promise<void> {
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
    await using chromium = await startChromium(executablePath ?? "");
    await using seen = await openStatusPage(chromium.browser, url);
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
    await act(page, "Let Gatehouse act");
    await until("the token is rejected", generousMs, async () =>
      (await result(page).innerText()).startsWith("Wrong token."),
    );
    expect(await isUntouched(node)).toBe(true);

    await page.getByLabel("Token").fill(token);
    await adopt.click();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await isUntouched(node)).toBe(true);
    await act(page, "Let Gatehouse act");
    await until("it is adopted", generousMs, async () =>
      (await result(page).innerText()).startsWith("Gatehouse now acts on this node."),
    );
    await until("the plan's restart is made", generousMs, async () => (await node.starts()) === 2);
    await waitUntilSettled(url);
    await expectWellMade(page, "actions");
    // The plan's own restart may not have finished yet.
    await until("the restart is begun", generousMs, async () => {
      await act(page, "Restart the node");
      const answer = result(page).filter({ hasText: /about to be restarted|already in progress/ });
      return (await answer.innerText()).includes("about to be restarted");
    });
    await until("the node is restarted", generousMs, async () => (await node.starts()) === 3);
    await page.locator("#changes li", { hasText: "an operator requested it" }).first().waitFor();
    await waitUntilSettled(url);
    expect(await node.starts()).toBe(3);
    expect(seen.complaints().filter((text) => !text.includes("401"))).toEqual([]);
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
