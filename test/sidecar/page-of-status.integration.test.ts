import { pino } from "pino";
import { Registry } from "prom-client";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "#daemon/http/app.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import type { NodeHealth } from "#health/node-health.ts";
import { createCharts } from "#status/charts.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import { pageRoutes } from "#sidecar/page/page-routes.ts";
import { statusRoutes } from "#sidecar/page/status-routes.ts";
import { verdictOf } from "#status/verdict.ts";
import type { PlanView } from "#sidecar/upkeep/plan/plan-view.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { expectWellMade, openStatusPage, waitForLevel } from "../support/status-page.ts";

const executablePath = findChromium();
const looking = test.skipIf(executablePath === undefined);
const skipped = executablePath === undefined ? " (skipped: no chromium on PATH)" : "";

const resources = new AsyncDisposableStack();
let browser: Browser;

beforeAll(async () => {
  if (executablePath !== undefined) browser = resources.use(await startChromium(executablePath)).browser;
});

afterAll(() => resources.disposeAsync());

const secondMs = 1_000;
const minuteMs = 60_000;

/** The page of a node whose past and present a test decides. The sidecar's own clock stands at noon. */
async function servePage(health: Partial<NodeHealth>, plan?: PlanView) {
  const nowMs = Date.parse("2026-03-04T12:00:00Z");
  const clock = { wallMs: () => nowMs, monotonicMs: () => 0 };
  const log = pino({ level: "silent" });
  const metrics = new Registry();
  const events = { add: () => undefined, list: () => [] };
  const board = createConditionBoard({ log, metrics, clock, events });
  const charts = createCharts();
  const app = createApp({ bodyLimitBytes: 1_024 }, { log, metrics });
  const known = { answers: 1, chainId: 1672, clientVersion: "node/v0.16.2", height: 300, latencyMs: 3 };
  statusRoutes(
    app,
    {
      name: "node-7",
      httpUrl: "http://127.0.0.1:18100",
      mode: "enforce",
      stillAfterMs: { heights: 30 * secondMs, pruning: 10 * minuteMs },
    },
    {
      board,
      events,
      health: () => ({ ...known, answeredAtMs: nowMs, ...health }),
      charts,
      clock,
      configured: () => ({ ok: true, message: "" }),
      plan: () => plan,
      verdict: () => verdictOf(board.list(), { mode: "enforce", watched: [] }),
    },
  );
  pageRoutes(app);
  const listening = { host: "127.0.0.1", port: 0, requestTimeoutMs: 5_000, setting: "-" };
  const { url, ...listener } = await listenHttp(app, listening);
  const served = new AsyncDisposableStack();
  served.use(listener);
  return { url, board, charts, nowMs, [Symbol.asyncDispose]: () => served.disposeAsync() };
}

looking(`a height that stands still is no speed, and pruning that stands still is drawn so${skipped}`, async () => {
  await using node = await servePage({});
  for (let agoMs = 10 * minuteMs; agoMs >= 0; agoMs -= secondMs) {
    const atMs = node.nowMs - agoMs;
    node.charts.heights.add({ atMs, value: Math.min(300, 600 - agoMs / secondMs) });
  }
  for (let agoMs = 60 * minuteMs; agoMs >= 0; agoMs -= 30 * secondMs) {
    const atMs = node.nowMs - agoMs;
    node.charts.prunable.add({ atMs, value: 90_000 - agoMs / secondMs });
    node.charts.pruned.add({ atMs, value: 50_000 - Math.max(agoMs, 11 * minuteMs) / secondMs });
  }
  await using seen = await openStatusPage(browser, node.url);
  const { page } = seen;
  const height = page.getByRole("img", {
    name: "Block height: Unchanged for 5 min; before that 60 a minute over 5 min.",
  });
  await height.waitFor();
  const pruning = page.getByRole("img", {
    name: "Pruned before version: Unchanged for 11 min; before that 60 a minute over 49 min; dashed: may be pruned before 90,000.",
  });
  await pruning.waitFor();
  const steps = (await pruning.locator("path.line:not(.compared)").getAttribute("d"))!.slice(1).split("L");
  const drawn = steps.map((step) => step.split(" ").map(Number) as [x: number, y: number]);
  const [end, start] = [drawn.at(-1)!, drawn[0]!];
  const stillFrom = drawn.find(([, y]) => y === end[1])!;
  // 11 of 60 minutes at the right are level.
  expect((end[0] - stillFrom[0]) / (end[0] - start[0])).toBeCloseTo(11 / 60, 2);
  await expectWellMade(page, "standing-still");
  expect(seen.complaints()).toEqual([]);
});

looking(`after a stall, the speed is that of the time since${skipped}`, async () => {
  await using node = await servePage({});
  for (let agoMs = 10 * minuteMs; agoMs >= 0; agoMs -= secondMs) {
    const value = agoMs > 8 * minuteMs ? -agoMs / secondMs : Math.max(-480, -360 - agoMs / secondMs);
    node.charts.heights.add({ atMs: node.nowMs - agoMs, value: 1_000 + value });
  }
  await using seen = await openStatusPage(browser, node.url);
  await seen.page.getByRole("img", { name: "Block height: 60 a minute over 2 min." }).waitFor();
});

looking(`what a node told that no longer answers stands in quiet ink, with its time${skipped}`, async () => {
  const message =
    "http://127.0.0.1:18100 can't be reached (ECONNREFUSED); is the node running, and is this its address?";
  const nowMs = Date.parse("2026-03-04T12:00:00Z");
  await using node = await servePage({
    failure: { reason: "Refused", message },
    answeredAtMs: nowMs - 7 * minuteMs,
  });
  node.board.set({ type: "RpcAnswering", status: "False", reason: "Refused", message });
  for (let agoMs = 17 * minuteMs; agoMs >= 7 * minuteMs; agoMs -= secondMs) {
    node.charts.heights.add({ atMs: nowMs - agoMs, value: 1_320 - agoMs / secondMs });
  }
  await using seen = await openStatusPage(browser, node.url);
  const { page } = seen;
  await waitForLevel(page, "down");
  const facts = page.locator("#facts");
  expect(await facts.locator("dd.old").allInnerTexts()).toEqual(["1672", "node/v0.16.2", "300"]);
  expect(await facts.innerText()).toMatch(/Answers in\s+no answer\s+Last answer\s+\d\d:\d\d:\d\d, 7 min ago/);
  const ink = (selector: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector("${selector}")).color`);
  expect(await ink("#facts dd.old")).toBe(await ink("#facts dt"));
  expect(await ink("#facts dd:not(.old)")).not.toBe(await ink("#facts dt"));
  await page.getByRole("img", { name: "Block height: 60 a minute over 10 min; last seen 7 min ago." }).waitFor();
  await expectWellMade(page, "not-answering");
  await node[Symbol.asyncDispose]();
  await waitForLevel(page, "stale");
  expect(await facts.locator("dd:not(.old)").allInnerTexts()).toEqual([expect.stringMatching(/ago$/)]);
  await expectWellMade(page, "gone");
});

looking(`a sidecar that waits for adopt: the page shows the plan and the command${skipped}`, async () => {
  const steps = [
    "node.conf: a renamed to b (the version reads b)",
    "the node is restarted (it reads node.conf at its start)",
  ];
  await using node = await servePage({}, { steps, problems: [], digest: "0" });
  const command = "docker exec gatehouse-dev-sidecar node /app/cli/gatehouse.js adopt";
  node.board.set({ type: "RpcAnswering", status: "True", reason: "Answering", message: "It answers." });
  const message = `The sidecar has changed nothing yet. To let it act, run \`${command}\`.`;
  node.board.set({ type: "Adopted", status: "False", reason: "WaitingForAdopt", message });
  await using seen = await openStatusPage(browser, node.url);
  const { page } = seen;
  await waitForLevel(page, "waiting");
  expect(await page.locator("#plan li").allInnerTexts()).toEqual(steps);
  expect(await page.locator("#to-do li").first().innerText()).toContain(command);
  await expectWellMade(page, "waiting");
  expect(seen.complaints()).toEqual([]);
});
