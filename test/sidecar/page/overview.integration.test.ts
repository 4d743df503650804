import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { listenForOperations } from "#daemon/http/operations-listener.ts";
import { createServicePage } from "#status/page/service-page.ts";
import { createFacilitatorMetrics } from "#facilitator/facilitator-metrics.ts";
import { findChromium, startChromium } from "../../support/page/chromium.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { accelerateService } from "../../support/accelerated-waits.ts";
import { gatehouseProgram } from "../../support/programs/place.ts";
import { servePage } from "../../support/page/served-page.ts";
import { expectWellMade, openStatusPage } from "../../support/page/status-page.ts";
import { generousMs, readUntil, until } from "#daemon/testing/until.ts";

const executablePath = findChromium();
const browserTest = test.skipIf(executablePath === undefined);
const skipped = executablePath === undefined ? " (skipped: no chromium on PATH)" : "";

/** Starts a facilitator's admin port, with made-up payments. */
async function serveFacilitator() {
  const metrics = new Registry();
  const counted = createFacilitatorMetrics([metrics]);
  const signer = { balance: 0.42 };
  counted.of("eip155:7").watch({
    inFlight: () => 3,
    oldestMs: () => 0,
    signerStates: () => [],
    signerBalances: () => new Map([["0x51", signer.balance]]),
    signersUsable: () => new Map(),
    comparison: () => undefined,
    sellers: [],
    dailyGas: async () => 0,
  });
  const settle = (outcome: string) => counted.startSettle()(outcome, "eip155:7");
  const checks = { chain: { ok: true, message: "The chain responds." } };
  const readiness = () => ({ ready: true, checks });
  const pages = ["node-7=http://127.0.0.1:9600/", "prometheus=http://127.0.0.1:9090/", "shop=http://127.0.0.1:9601/"];
  const lines = { typescript: "client.setSpendControls({});", python: "client.set_spend_controls({})" };
  const page = { service: "facilitator", tags: ["settles", "eip155:7"], pages, describeBuyers: () => lines } as const;
  const listener = await listenForOperations(
    { host: "127.0.0.1", port: 0, setting: "-", requestTimeoutMs: 5_000, allowedHosts: [] },
    {
      log: pino({ level: "silent" }),
      mask: createMask(),
      metrics,
      readiness,
      addPage: createServicePage(page),
      api: () => ({ title: "Facilitator", description: "", operations: [] }),
    },
  );
  return { ...listener, settle, signer };
}

/** Serves a sidecar's status, for a node that serves and has had a fault for three minutes. */
async function serveSidecar() {
  const page = await servePage();
  page.setRight(["RpcResponding", "ChainIdMatches", "HeightAdvancing", "GatewayServing", "ConfigReconciled"]);
  await page.live(180_000, (sinceMs) => ({ height: 1_000 + sinceMs / 1_000, latencyMs: 4 }));
  return page;
}

/** `gatehouse status --page` with a file of targets. */
async function startDashboard(targets: string) {
  const directory = await makeTestDirectory();
  await writeFile(join(directory, "targets"), targets);
  const args = [gatehouseProgram, "status", "--targets", join(directory, "targets"), "--page", "0"];
  // Makes the page check its targets twice per second.
  const env = { ...process.env, ...accelerateService({ waitsMs: [5_000], times: 10 }) };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "exit") as Promise<[number | null]>;
  const url = await until("it reports its URL", generousMs, () => /http:\S+/.exec(output)?.[0]);
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      return (await ended)[0];
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

type Overview = Readonly<{ targets: readonly Readonly<{ name: string; state: string; cause: string }>[] }>;

/** Returns the status of the response to a request with that Host header. */
async function askAs(url: string, host: string): Promise<number | undefined> {
  const [response] = (await once(request(`${url}overview`, { headers: { host } }).end(), "response")) as [
    { statusCode?: number; resume: () => void },
  ];
  response.resume();
  return response.statusCode;
}

browserTest(
  `shows a sidecar, a facilitator and an unresponsive target on one page${skipped}`,
  async () => {
    await using sidecar = await serveSidecar();
    await using resources = new AsyncDisposableStack();
    const facilitator = resources.use(await serveFacilitator());
    const [port] = await findFreePorts(1);
    await using dashboard = await startDashboard(
      [`node-7=${sidecar.url}`, `payments=${facilitator.url}`, `gone=http://reader:a-word@127.0.0.1:${port}`].join(
        "\n",
      ),
    );
    await using chromium = await startChromium(executablePath ?? "");
    await using seen = await openStatusPage(chromium.browser, dashboard.url);
    const { page } = seen;
    const card = (name: string) =>
      page.locator(".target").filter({ has: page.getByRole("link", { name, exact: true }) });
    await page.getByText("1 of 3 is not healthy.").waitFor({ timeout: generousMs });
    const node = await card("node-7").innerText();
    expect(node).toContain("Healthy");
    expect(node).toMatch(/Last block\s+1,180/);
    expect(await card("node-7").getByRole("link").getAttribute("href")).toBe(`${sidecar.url}/`);
    expect(await card("payments").innerText()).toMatch(/Settled\s+0\b/);
    facilitator.settle("settled");
    facilitator.settle("insufficient_funds");
    await until("the current payments are shown", generousMs, async () => {
      const text = await card("payments").innerText();
      return /Settled\s+1\b/.test(text) && /Rejected\s+1\s+insufficient_funds 1/.test(text);
    });
    const payments = await card("payments").innerText();
    expect(payments).toMatch(/Ready\s.*Its check passes\.\s/s);
    expect(payments).toMatch(/Payments\s+3\s+pending/);
    expect(payments).toMatch(/Signer's gas\s+0\.42\s+chain 7's currency/);
    await using own = await openStatusPage(chromium.browser, facilitator.url);
    await own.page.getByText("Its check passes.").first().waitFor({ timeout: generousMs });
    expect(await own.page.locator("#figures").innerText()).toMatch(/Settled\s+1\b/);
    expect(await own.page.title()).toBe("Ready: facilitator · Gatehouse");
    expect(await own.page.locator("#buyers .command code").allInnerTexts()).toEqual([
      "client.setSpendControls({});",
      "client.set_spend_controls({})",
    ]);
    expect(await own.page.getByRole("link", { name: "node-7" }).getAttribute("href")).toBe("http://127.0.0.1:9600/");
    expect(await own.page.locator("#overview .command code").innerText()).toBe(
      "gatehouse status --page --targets node-7=http://127.0.0.1:9600/ shop=http://127.0.0.1:9601/",
    );
    await expectWellMade(own.page, "service");
    await own.page.route("**/status", async (route) => {
      const response = await route.fetch();
      const status = (await response.json()) as { figures: { payments: { balances: { days?: number }[] } } };
      for (const balance of status.figures.payments.balances) balance.days = 21_900;
      await route.fulfill({ response, json: status });
    });
    await own.page.getByText("chain 7's currency, for over a year").waitFor({ timeout: generousMs });
    await own.page.unrouteAll({ behavior: "wait" });
    expect(own.complaints()).toEqual([]);
    expect(await askAs(`${facilitator.url}/`, "status.example")).toBe(403);
    facilitator.signer.balance = 0;
    await until("the empty signer is shown", generousMs, async () =>
      /Signer's gas\s+0\s/.test(await card("payments").innerText()),
    );
    const gone = await card("gone").innerText();
    expect(gone).toMatch(/Not responding\s*since before .*, for more than \d+ s/);
    expect(gone).toContain("It can't be queried (ECONNREFUSED).");
    await expectWellMade(page, "overview");
    const order = await page.locator(".target h2").allInnerTexts();
    expect(order).toEqual(["gone", "node-7", "payments"]);

    // The figures of an unresponsive target remain, marked as old.
    await resources.disposeAsync();
    await page.getByText("2 of 3 are not healthy.").waitFor({ timeout: generousMs });
    // If a check ran while the service was stopping, the card first shows "not ready", with figures from that moment.
    await readUntil(
      () => card("payments").innerText(),
      (text) => /Not responding\s*since .*\n.*\n.*Payments\s*old\s+3\s+pending/s.test(text),
    );
    await expectWellMade(page, "overview-old");
    expect(await page.content()).not.toContain("a-word");
    expect(seen.complaints()).toEqual([]);
  },
  120_000,
);

test("responds only to this machine's own names, shows no part of a password, and exits with 0 on a signal", async () => {
  const [port] = await findFreePorts(1);
  await using dashboard = await startDashboard(`http://reader:a-word@127.0.0.1:${port}`);
  const response = await fetch(`${dashboard.url}overview`);
  const text = await response.text();
  expect((JSON.parse(text) as Overview).targets).toMatchObject([{ name: `127.0.0.1:${port}` }]);
  expect(text).not.toContain("a-word");
  const html = await fetch(dashboard.url);
  expect(html.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await askAs(dashboard.url, "status.example")).toBe(403);
  expect(await askAs(dashboard.url, "localhost")).toBe(200);
  expect(await dashboard.stop()).toBe(0);
});
