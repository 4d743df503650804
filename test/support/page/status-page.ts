import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import axe, { type AxeResults } from "axe-core";
import { expect } from "vitest";
import type { Browser, Page } from "playwright-core";
import { generousMs, until } from "#daemon/testing/until.ts";
import { isLong, seed } from "../run-size.ts";

/** A status page in a browser, with the browser's errors, which a user would not see. */
export type StatusPage = AsyncDisposable & Readonly<{ page: Page; complaints: () => readonly string[] }>;

const looks = [
  { name: "desktop-light", width: 1_280, colorScheme: "light" },
  { name: "desktop-dark", width: 1_280, colorScheme: "dark" },
  { name: "phone-light", width: 320, colorScheme: "light" },
  { name: "phone-dark", width: 320, colorScheme: "dark" },
] as const;

/**
 * A long run checks both widths and both colour schemes; other runs check one combination, chosen by state and seed, so that each is
 * checked over time.
 */
function chooseLooks(state: string) {
  const at = [...state].reduce((sum, letter) => sum + letter.charCodeAt(0), seed) % looks.length;
  return isLong ? looks : looks.slice(at, at + 1);
}

/** Min size of text that counts as readable on a phone. */
const readablePx = 11;

export async function openStatusPage(browser: Browser, url: string): Promise<StatusPage> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints: () => complaints, [Symbol.asyncDispose]: () => context.close() };
}

export async function waitForLevel(page: Page, level: string, withinMs = generousMs): Promise<void> {
  try {
    // Until its status has arrived, the page's level is also unknown.
    const verdict = page.locator(`#verdict[data-level=${level}]`).filter({ hasNotText: "Reading the status" });
    await verdict.waitFor({ timeout: withinMs });
  } catch (cause) {
    throw new Error(`the verdict did not become ${level}:\n${await page.locator("body").innerText()}`, { cause });
  }
}

/** Opens the page of `node-7`, which is healthy: one check reports so, and the page updates itself. */
export async function openHealthyPage(browser: Browser, url: string): Promise<StatusPage> {
  const seen = await openStatusPage(browser, url);
  const { page } = seen;
  await waitForLevel(page, "healthy", 60_000);
  expect(await page.getByRole("status").innerText()).toMatch(/^Healthy\. (All )?\d+ checks pass/);
  expect(await page.locator("#verdict-title").innerText()).toBe("Healthy");
  expect(await page.title()).toBe("Healthy: node-7 · Gatehouse");
  expect(await page.getByRole("heading", { name: "Gatehouse node-7" }).isVisible()).toBe(true);
  expect(await page.getByRole("heading", { name: "What to do" }).isVisible()).toBe(false);
  await page.evaluate("window.notReloaded = true");
  const height = page.locator("#figures div", { hasText: "Last block" }).locator("b");
  const shown = async () => Number((await height.innerText()).replaceAll(",", ""));
  const shownTextBefore = await shown();
  await until("the height advances", generousMs, async () => (await shown()) > shownTextBefore + 3);
  expect(await page.evaluate("window.notReloaded")).toBe(true);
  return seen;
}

/**
 * Checks the page on a desktop and on a phone, in light and in dark mode: no horizontal scrolling, no small text, no
 * axe finding. Stores pictures if GATEHOUSE_TEST_SCREENSHOTS names a directory.
 */
export async function expectWellMade(page: Page, state: string): Promise<void> {
  const folder = process.env["GATEHOUSE_TEST_SCREENSHOTS"];
  for (const { name, width, colorScheme } of chooseLooks(state)) {
    await page.setViewportSize({ width, height: width === 320 ? 740 : 900 });
    await page.emulateMedia({ colorScheme });
    const where = `${state}, ${name}`;
    expect(await page.evaluate<number>("document.documentElement.scrollWidth"), where).toBeLessThanOrEqual(width);
    expect(await page.evaluate<number>(smallestTextPx), where).toBeGreaterThanOrEqual(readablePx);
    expect(await page.evaluate<readonly string[]>(brokenNumbers), where).toEqual([]);
    expect(await runAxe(page), where).toEqual([]);
    if (folder !== undefined) {
      await mkdir(folder, { recursive: true });
      await page.screenshot({ path: join(folder, `${state}-${name}.png`), fullPage: true });
    }
  }
}

/** Height of the smallest text as drawn, including the scale of drawings. */
const smallestTextPx = `Math.min(...[...document.querySelectorAll("main *, header *, footer *")]
  .filter((each) => each.checkVisibility() && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""))
  .map((each) => parseFloat(getComputedStyle(each).fontSize) * (each.getCTM?.().a ?? 1)))`;

const brokenNumbers = `[...document.querySelectorAll("td")].filter((cell) => {
  if (!/^[0-9.,]+( [^ ]+)?$/.test(cell.textContent.trim())) return false;
  const text = document.createRange();
  text.selectNodeContents(cell);
  return text.getClientRects().length > 1;
}).map((cell) => cell.textContent)`;

async function runAxe(page: Page): Promise<readonly string[]> {
  // axe is large, so it is loaded once per page.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(`${axe.source}; undefined`);
  const { violations } = await page.evaluate<AxeResults>("axe.run()");
  return violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" | ")}`);
}
