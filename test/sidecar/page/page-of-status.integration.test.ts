import type { Page } from "playwright-core";
import { expect } from "vitest";
import { doneBySidecar } from "#status/event-log.ts";
import { useBrowser } from "../../support/page/chromium.ts";
import {
  serveDeadNode,
  minuteMs,
  nodeGone,
  otherStates,
  rejected,
  serveRightNode,
  secondMs,
  sides,
  serveState,
  serveWaitingNode,
  waitingSteps,
} from "../../support/page/page-states.ts";
import { takeSlice } from "../../support/run-size.ts";
import { servePage } from "../../support/page/served-page.ts";
import { expectWellMade, openStatusPage, waitForLevel } from "../../support/page/status-page.ts";

const { browser, browserTest, skipped } = useBrowser();

async function captionOf(page: Page, id: string): Promise<string> {
  return page.locator(`#${id} figcaption`).innerText();
}

browserTest(`shows a healthy node with figures, rates and collapsed checks${skipped}`, async () => {
  await using node = await serveRightNode();
  await using seen = await openStatusPage(browser(), node.url);
  const { page } = seen;
  await waitForLevel(page, "healthy");
  expect(await page.locator("#verdict").innerText()).toBe(`Healthy\n\nAll ${sides.length} checks pass.`);
  expect(await page.getByRole("status").textContent()).toBe(`Healthy. All ${sides.length} checks pass.`);
  expect(await page.title()).toBe("Healthy: validator-eu-1 · Gatehouse");
  expect(await page.locator("link[rel=icon]").getAttribute("href")).toMatch(/^data:image\/svg\+xml,.*path/);
  expect((await page.locator("#figures > div").allInnerTexts()).map((text) => text.replaceAll("\n", " "))).toEqual([
    "Last block 5,400,600 0 s ago",
    expect.stringMatching(/^RPC latency [\d.]+ ms 0 s ago$/),
    "Requests 42.6 per second",
    "Errors 1.4 % 2/s limited",
    "Restarts left 6 of 6 per hour",
    "Disk free 62 % 310 GiB",
  ]);
  expect(await page.locator("#to-do-section").isVisible()).toBe(false);
  expect(await captionOf(page, "blocks-chart")).toMatch(/^Blocks per minute\s+60$/);
  expect(await page.locator("#checks-summary").innerText()).toBe(`${sides.length} of ${sides.length} pass`);
  expect(await page.locator("#checks").isVisible()).toBe(false);
  await page.locator("#checks-summary").click();
  expect(await page.locator("#checks li").count()).toBe(sides.length);
  await expectWellMade(page, "healthy");
  expect(seen.complaints()).toEqual([]);
});

browserTest(`shows a dead node as one card with cause, commands and collapsed consequences${skipped}`, async () => {
  await using node = await serveDeadNode(75 * secondMs);
  await using seen = await openStatusPage(browser(), node.url);
  const { page } = seen;
  await waitForLevel(page, "down");
  expect(await page.locator("#verdict").innerText()).toBe(
    "Node down for 1 min 15 s\n\nIts RPC refuses connections. Gatehouse has used up this hour's restarts.",
  );
  expect(await page.locator("#to-do > li").count()).toBe(1);
  const card = page.locator("#to-do > li");
  expect(await card.getByRole("heading").innerText()).toBe("The RPC is not responding");
  expect(await card.locator(".command code").allInnerTexts()).toEqual([
    "docker ps --all --filter name=gatehouse-prod-node",
    "docker logs --tail 50 gatehouse-prod-node",
    "docker start gatehouse-prod-node",
    "docker exec gatehouse-prod-sidecar gatehouse doctor",
  ]);
  expect(await card.locator("summary").innerText()).toMatch(/^6 more checks do not pass because of this: /);
  expect((await page.locator("body").innerText()).split("ECONNREFUSED").length - 1).toBe(1);
  await card.getByRole("link", { name: "runbook" }).click();
  await page.getByText("# The node is down").waitFor();
  await page.goBack();
  await waitForLevel(page, "down");
  expect(await page.locator("#blocks-chart .band").count()).toBe(1);
  expect(await page.locator("#figures .old dt").allInnerTexts()).toEqual([
    expect.stringMatching(/^LAST BLOCK\s+OLD$/i),
  ]);
  await expectWellMade(page, "down");
  expect(seen.complaints()).toEqual([]);
});

browserTest(`keeps an expanded card open during updates, and copies its command${skipped}`, async () => {
  await using node = await serveDeadNode(30 * secondMs);
  await using seen = await openStatusPage(browser(), node.url);
  const { page } = seen;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await waitForLevel(page, "down");
  const card = page.locator("#to-do > li");
  await card.locator("summary").click();
  expect(await card.locator(".consequences li").count()).toBe(6);
  const button = card.getByRole("button", { name: "Copy" }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  await card.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
    "docker ps --all --filter name=gatehouse-prod-node",
  );
  // Repeated updates must neither close the card nor remove the focus from its button.
  node.set({ type: "MetricsArriving", status: "False", reason: "Stale", message: "The last push is 99 s old." });
  await card.locator(".consequences", { hasText: "99 s old" }).waitFor();
  expect(await card.locator("details").getAttribute("open")).toBe("");
  expect(await page.evaluate("document.activeElement.tagName")).toBe("BUTTON");
  expect(seen.complaints()).toEqual([]);
});

browserTest(`shows the values of all charts at the time under the pointer or keyboard cursor${skipped}`, async () => {
  await using node = await serveRightNode();
  node.events.add("restart", "Restarting the node (docker): node.conf was changed.", undefined, doneBySidecar);
  node.set(...nodeGone);
  await node.live(60 * secondMs, () => ({ failure: rejected }));
  node.setRight(sides);
  await node.live(2 * minuteMs, (sinceMs) => ({ height: node.height + Math.floor(sinceMs / secondMs) }));
  await using seen = await openStatusPage(browser(), node.url);
  const { page } = seen;
  await waitForLevel(page, "healthy");
  const blocks = page.getByRole("slider", { name: "Blocks per minute" });
  await blocks.focus();
  expect(await blocks.getAttribute("aria-valuetext")).toMatch(/^60 at 12:13:00$/);
  await page.keyboard.press("Home");
  expect(await blocks.getAttribute("aria-valuetext")).toMatch(/ at 12:0\d:\d\d$/);
  await page.keyboard.press("End");
  for (let looks = 0; looks < 29; looks += 1) await page.keyboard.press("ArrowLeft");
  expect(await blocks.getAttribute("aria-valuetext")).toBe("not known at 12:10:35");
  expect(await page.getByRole("slider", { name: "RPC latency" }).getAttribute("aria-valuetext")).toBe(
    "not known at 12:10:35",
  );
  expect(await page.locator("#at-cursor").innerText()).toBe("12:10:35: not serving from 12:10:00, for 60 s");
  for (let looks = 0; looks < 7; looks += 1) await page.keyboard.press("ArrowLeft");
  expect(await page.locator("#at-cursor").innerText()).toBe(
    "12:10:00: restart: Restarting the node (docker): node.conf was changed.; not serving from 12:10:00, for 60 s",
  );
  await page.keyboard.press("Escape");
  expect(await page.locator("#at-cursor").innerText()).toBe("");
  expect(await page.locator("#requests-chart .flag").count()).toBe(1);
  expect(await page.locator("#requests-chart .band").count()).toBe(1);
  const box = (await page.locator("#rpc-chart svg").boundingBox())!;
  await page.mouse.move(box.x + box.width - 60, box.y + 40);
  expect(await page.locator("#rpc-chart figcaption").innerText()).toMatch(/^RPC latency at 12:1\d:\d\d\s+3 ms$/);
  expect(await page.locator("#blocks-chart .cursor").getAttribute("visibility")).toBe("visible");
  await page.mouse.move(2, 2);
  expect(await page.locator("#blocks-chart .cursor").getAttribute("visibility")).toBe("hidden");
  await page.getByText("24 hours").click();
  expect(await page.locator("#blocks-chart figcaption").innerText()).toMatch(/^Blocks per minute\s/);
  await expectWellMade(page, "back-again");
  expect(seen.complaints()).toEqual([]);
});

browserTest(`shows the plan and the command of a sidecar that waits for adopt${skipped}`, async () => {
  await using node = await serveWaitingNode();
  await using seen = await openStatusPage(browser(), node.url);
  const { page } = seen;
  await waitForLevel(page, "waiting");
  expect(await page.locator("#plan li").allInnerTexts()).toEqual(waitingSteps);
  expect(await page.locator("#to-do > li").count()).toBe(1);
  expect(await page.locator("#to-do .command code").allInnerTexts()).toEqual([
    "docker exec gatehouse-prod-sidecar gatehouse adopt",
  ]);
  await expectWellMade(page, "waiting");
  expect(seen.complaints()).toEqual([]);
});

browserTest.each(takeSlice(otherStates, 4))(
  `$name: shows its headline and cards, and is accessible${skipped}`,
  async (state) => {
    const { name, level, title, cards } = state;
    await using node = await serveState(state);
    await using seen = await openStatusPage(browser(), node.url);
    const { page } = seen;
    await waitForLevel(page, level);
    expect(await page.locator("#verdict-title").innerText()).toMatch(title);
    expect(await page.locator("#to-do > li h3").allInnerTexts()).toEqual(cards);
    await expectWellMade(page, name);
    expect(seen.complaints()).toEqual([]);
  },
);

browserTest(
  `shows an unknown state before the first check, and marks figures as old once the sidecar stops responding${skipped}`,
  async () => {
    await using node = await servePage({ watched: ["RpcResponding"] });
    await using seen = await openStatusPage(browser(), node.url);
    const { page } = seen;
    await waitForLevel(page, "unknown");
    expect(await page.locator("#figures dt").allInnerTexts()).toEqual(["Restarts left", "Disk free"]);
    await expectWellMade(page, "knows-nothing");
    await node[Symbol.asyncDispose]();
    await waitForLevel(page, "stale");
    expect(await page.getByRole("status").innerText()).toMatch(
      /^The sidecar is not responding\. The data below is old/,
    );
    expect(await page.locator("#figures .mark").count()).toBe(2);
    await expectWellMade(page, "gone");
  },
);

browserTest(`shows HTML in a node's messages and events as text${skipped}`, async () => {
  await using node = await serveRightNode({}, 1);
  const message = `answered with <img src=x onerror="document.title='taken'"> and \`<b>code</b>\``;
  node.set({ type: "RpcResponding", status: "False", reason: "NotJsonRpc", message });
  node.events.add("write", "<script>document.title='taken'</script>", "<i>why</i>", doneBySidecar);
  await using seen = await openStatusPage(browser(), node.url);
  const { page } = seen;
  await waitForLevel(page, "down");
  expect(await page.locator("#to-do > li").innerText()).toContain(
    `answered with <img src=x onerror="document.title='taken'"> and <b>code</b>`,
  );
  expect(await page.locator("#changes li").innerText()).toContain(
    "<script>document.title='taken'</script> Why: <i>why</i>",
  );
  expect(await page.locator("main :is(img, script, b b, i)").count()).toBe(0);
  expect(await page.title()).toBe("Node down: validator-eu-1 · Gatehouse");
});

browserTest(`keeps a three-digit error rate on one line at any width${skipped}`, async () => {
  await using node = await servePage();
  node.setRight(sides);
  const failed = { method: "eth_getTransactionReceipt", tier: "public", outcome: "failed" } as const;
  await node.live(2 * minuteMs, (sinceMs) => ({
    height: Math.floor(sinceMs / secondMs),
    traffic: { calls: [{ ...failed, count: Math.round((0.633 * sinceMs) / secondMs) }], limited: [] },
  }));
  await using seen = await openStatusPage(browser(), node.url);
  await waitForLevel(seen.page, "healthy");
  expect((await seen.page.locator("td.bad").allInnerTexts())[0]).toMatch(/^0\.\d{3}$/);
  await expectWellMade(seen.page, "failing-calls");
});
