import { afterAll, beforeAll, expect, test } from "vitest";
import { useBrowser } from "../../support/page/chromium.ts";
import { servePage } from "../../support/page/served-page.ts";
import { expectWellMade, openStatusPage } from "../../support/page/status-page.ts";

const { browser, browserTest, skipped } = useBrowser();

const resources = new AsyncDisposableStack();
let url: string;

beforeAll(async () => {
  ({ url } = resources.use(await servePage()));
});

afterAll(() => resources.disposeAsync());

const html = "text/html; charset=utf-8";
const text = "text/plain; charset=utf-8";

test.each([
  ["a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", html],
  ["curl", "*/*", text],
  ["a client that wants text", "text/plain", text],
  ["a client that prefers text", "text/html;q=0.5,text/plain", text],
  ["a client that wants neither", "application/json", text],
])("serves a runbook for %s (%s) as %s", async (_, accept, type) => {
  const answer = await fetch(`${url}/runbooks/node-down.md`, { headers: { Accept: accept } });
  expect([answer.status, answer.headers.get("content-type"), answer.headers.get("vary")]).toEqual([
    200,
    type,
    "Accept",
  ]);
  expect(answer.headers.get("content-security-policy")).toContain("script-src 'self'; style-src 'self'");
  const first = (await answer.text()).slice(0, 18);
  expect(first).toBe(type === html ? "<!doctype html>\n<h" : "# The node is down");
});

test("responds to an unknown runbook with not found", async () => {
  for (const name of ["nothing.md", "..%2Ffaults.md"]) {
    expect((await fetch(`${url}/runbooks/${name}`, { headers: { Accept: "text/html" } })).status).toBe(404);
  }
});

browserTest(`renders a runbook like the status page, with links and copyable commands${skipped}`, async () => {
  await using seen = await openStatusPage(browser(), `${url}/runbooks/node-down.md`);
  const { page } = seen;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  expect(await page.title()).toBe("The node is down · Gatehouse");
  const command = `curl -s http://127.0.0.1:9600/status | jq '.conditions[] | select(.type == "NoRestartPending")'`;
  const block = page.locator(".command", { hasText: "NoRestartPending" });
  await block.getByRole("button", { name: "Copy" }).click();
  await block.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(command);
  await expectWellMade(page, "runbook");
  await page.getByRole("link", { name: "runbooks", exact: true }).click();
  await page.waitForURL(`${url}/runbooks/README.md#where-to-run-the-commands`);
  expect(await page.locator("h2:target").innerText()).toBe("Where to run the commands");
  await expectWellMade(page, "runbooks");
  await page.getByRole("link", { name: "The watchdog" }).click();
  await page.getByRole("heading", { name: "The watchdog" }).waitFor();
  await page.getByRole("link", { name: "Node status" }).click();
  await page.locator("#verdict").waitFor();
  expect(seen.complaints()).toEqual([]);
});

browserTest(`renders a runbook with selectable commands without JavaScript${skipped}`, async () => {
  const context = await browser().newContext({ javaScriptEnabled: false });
  await using _ = { [Symbol.asyncDispose]: () => context.close() };
  const page = await context.newPage();
  await page.goto(`${url}/runbooks/node-down.md`);
  expect(await page.locator("pre").first().innerText()).toContain('select(.type == "RpcResponding")');
});
