import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { Hono } from "hono";
import { expect, it } from "vitest";
import { generousMs } from "#daemon/testing/until.ts";
import { findChromium, startChromium } from "../support/page/chromium.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

const root = join(import.meta.dirname, "../..");
const executablePath = findChromium();
const skipped = executablePath === undefined ? " (the browser's part is skipped: no chromium on PATH)" : "";

async function temporaryFolder(): Promise<AsyncDisposable & Readonly<{ path: string }>> {
  const path = await mkdtemp(join(tmpdir(), "gatehouse-site-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function served(folder: string): Promise<AsyncDisposable & Readonly<{ url: string }>> {
  const app = new Hono().use(serveStatic({ root: folder, rewriteRequestPath: (path) => pageFile(path) }));
  const server = createServer(getRequestListener(app.fetch));
  const local = await listenLocally(server);
  const { port } = local;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

function pageFile(path: string): string {
  if (path.endsWith("/")) return `${path}index.html`;
  return /\.\w+$/.test(path) ? path : `${path}.html`;
}

/** Pages with a diagram, and a word from it; each diagram is fully visible on a desktop. */
const drawn = [
  ["docs/concepts/cache", "node"],
  ["docs/concepts/changes", "resume"],
  ["docs/concepts/payments", "upstream"],
] as const;

it(`builds a site without dead links, with offline search, diagrams and highlighted queries${skipped}`, async () => {
  await using folder = await temporaryFolder();
  // This build fails if a link is broken.
  const program = join(root, "node_modules/vitepress/bin/vitepress.js");
  await promisify(execFile)(process.execPath, [program, "build", "docs", "--outDir", folder.path], { cwd: root });
  if (executablePath === undefined) return;
  await using site = await served(folder.path);
  await using started = await startChromium(executablePath);
  const page = await started.browser.newPage({ viewport: { width: 1_280, height: 900 } });
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(site.url) && !request.url().startsWith("data:")) elsewhere.push(request.url());
  });
  await page.goto(site.url, { timeout: generousMs });
  expect(await page.getByRole("heading", { level: 1 }).innerText({ timeout: generousMs })).toContain("Gatehouse");
  await page.getByRole("button", { name: "Search" }).first().click({ timeout: generousMs });
  await page.getByRole("searchbox").fill("maintenance window", { timeout: generousMs });
  const result = page.getByRole("option").first();
  await result.click({ timeout: generousMs });
  await page.waitForURL(/maintenance|glossary|settings|sidecar|docs\//, { timeout: generousMs });
  // The address changes before the page is loaded.
  await page.locator("main", { hasText: /maintenance/i }).waitFor({ timeout: generousMs });
  for (const [path, word] of drawn) {
    await page.goto(`${site.url}/${path}`, { timeout: generousMs });
    const diagram = page.locator(".diagram svg").first();
    await diagram.waitFor({ timeout: generousMs });
    expect((await diagram.boundingBox())?.height).toBeGreaterThan(100);
    expect(
      await page
        .locator(".diagram")
        .first()
        .evaluate((shown) => shown.scrollWidth - shown.clientWidth),
    ).toBe(0);
    expect((await diagram.locator("text").allTextContents()).join(" ")).toContain(word);
    expect(await page.locator("main").innerText()).not.toMatch(/^(?:flowchart|sequenceDiagram)\b/m);
  }
  await page.goto(`${site.url}/docs/runbooks/node-down`, { timeout: generousMs });
  const painted = await page
    .locator(".language-promql code span[style]")
    .evaluateAll((spans) => spans.map((span) => span.getAttribute("style")));
  expect(new Set(painted).size).toBeGreaterThan(2);
  expect(elsewhere).toEqual([]);
});
