import { rename, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { accelerateWaits } from "../support/accelerated-waits.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startFacilitatorProxy } from "./facilitator-proxy.ts";
import {
  createTemporaryFolder,
  openMarketWithShop,
  pay,
  signPaymentFor,
  type MarketWithShop,
} from "../support/payments/shop.ts";

let market: MarketWithShop;
let shop: MarketWithShop["shop"];
beforeAll(async () => {
  market = await openMarketWithShop();
  ({ shop } = market);
});
afterAll(() => market?.[Symbol.asyncDispose]());

it.each(["/metrics", "/readyz", "/livez"])("the public port does not serve %s", async (path) => {
  const response = await fetch(`${shop.origin}${path}`);
  expect([response.status, await response.json()]).toEqual([404, { error: `no such route: GET ${path}` }]);
});

it("the admin port reports readiness and counts requests to the public port", async () => {
  await fetch(`${shop.origin}/data`);
  await until("it is ready", generousMs, async () => (await fetch(`${shop.operationsUrl}/readyz`)).status === 200);
  expect(await (await fetch(`${shop.operationsUrl}/readyz`)).json()).toMatchObject({
    status: "ok",
    checks: {
      facilitator: { ok: true },
      ledger: { ok: true },
      upstreams: { ok: true },
      sales: { ok: true, message: "open" },
    },
  });
  expect((await fetch(`${shop.operationsUrl}/livez`)).status).toBe(200);
  const metrics = await (await fetch(`${shop.operationsUrl}/metrics`)).text();
  expect(metrics).toContain('gatehouse_payment_requests_total{route="GET /data",outcome="unpaid"} 1');
  expect(metrics).toContain('gatehouse_http_request_duration_seconds_count{method="GET",route="/data",status="402"} 1');
  expect(metrics).not.toContain('route="/readyz"');
  const { spendControls } = (await (await fetch(`${shop.origin}/data`)).json()) as { spendControls: object };
  const { buyers } = (await (await fetch(`${shop.operationsUrl}/status`)).json()) as { buyers: object };
  expect(buyers).toEqual(spendControls);
});

it("the facilitator counts the seller's terms check separately from payments", async () => {
  await until("it is ready", generousMs, async () => (await fetch(`${shop.operationsUrl}/readyz`)).status === 200);
  const operations = market.settler.urls["facilitator-operations"];
  expect(await (await fetch(`${operations}/metrics`)).text()).toMatch(
    /^gatehouse_facilitator_verify_duration_seconds_count\{outcome="terms_check",network="eip155:1672"\} [1-9]/m,
  );
  const { figures } = (await (await fetch(`${operations}/status`)).json()) as { figures: { payments: object } };
  expect(figures.payments).toMatchObject({ rejected: [] });
});

it("the admin port sells nothing", async () => {
  market.upstream.behave("data");
  expect((await pay(`${shop.operationsUrl}/data`, await signPaymentFor(market.url))).status).toBe(404);
  expect(market.upstream.hits()).toBe(0);
});

it("sells routes at /metrics and /readyz of the public port", async () => {
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  const upstream = `${market.upstream.url}/data`;
  const routes = { "GET /metrics": { accepts, upstream }, "GET /readyz": { accepts, upstream } };
  await using own = await market.openOwnShop({}, { routes });
  market.upstream.behave("data");
  const url = `${own.origin}/metrics`;
  expect((await fetch(url)).status).toBe(402);
  const bought = await pay(url, await signPaymentFor(url));
  expect([bought.status, await bought.text()]).toEqual([200, expect.stringContaining("sold")]);
});

it("stays ready as degraded without its facilitator, requests no payment, and returns 503 to payments", async () => {
  await using passing = await startFacilitatorProxy(market.facilitator.url);
  // Shortens the ten seconds between two checks of a healthy facilitator.
  using _sooner = accelerateWaits({ waitsMs: [10_000], times: 20 });
  await using own = await market.openOwnShop({ GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: passing.url });
  const readyz = async () => {
    const response = await fetch(`${own.operationsUrl}/readyz`);
    return [response.status, ((await response.json()) as { status: string }).status];
  };
  await until("it is ready", generousMs, async () => (await readyz())[0] === 200);
  const payment = await signPaymentFor(`${own.origin}/data`);
  await passing[Symbol.asyncDispose]();
  await until("it is degraded", generousMs, async () => {
    const [status, word] = await readyz();
    expect(status).toBe(200);
    return word === "degraded";
  });
  const unpaid = await fetch(`${own.origin}/data`);
  expect([unpaid.status, unpaid.headers.get("Retry-After"), unpaid.headers.get("PAYMENT-REQUIRED")]).toEqual([
    503,
    "3",
    null,
  ]);
  expect(await (await fetch(`${own.operationsUrl}/readyz`)).json()).toMatchObject({
    checks: { sales: { ok: false, message: expect.stringContaining("get 503"), tolerated: true } },
  });
  const paid = await pay(`${own.origin}/data`, payment);
  expect([paid.status, paid.headers.get("Retry-After")]).toEqual([503, "3"]);
  const metrics = await (await fetch(`${own.operationsUrl}/metrics`)).text();
  expect(metrics).toMatch(/^gatehouse_ready_check\{check="facilitator"\} 0$/m);
  expect(metrics).toMatch(/^gatehouse_ready_check\{check="ledger"\} 1$/m);
});

it("is degraded while its routes file is invalid, on its page too", async () => {
  await using folder = await createTemporaryFolder();
  const path = join(folder.path, "routes.json5");
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  const routes = JSON.stringify({ "GET /data": { accepts, upstream: market.upstream.url } });
  await writeFile(path, routes);
  await using own = await market.openOwnShop({ GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: path });
  const readFilesCheck = async () => {
    const { headline, conditions } = (await (await fetch(`${own.operationsUrl}/status`)).json()) as {
      headline: Readonly<{ state: string; cause: string }>;
      conditions: readonly Readonly<{ title: string; status: string }>[];
    };
    return { ...headline, files: conditions.find(({ title }) => title === "files")?.status };
  };
  const turnsTo = async (state: string) =>
    until(`it is ${state}`, generousMs, async () => (await readFilesCheck()).state === state);
  await turnsTo("Ready");
  await writeFile(path, '{ "GET /data": {');
  await turnsTo("Ready, with a fault");
  expect(await readFilesCheck()).toMatchObject({
    files: "False",
    cause: expect.stringContaining(`${path} (GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH) is invalid: `) as string,
  });
  expect((await fetch(`${own.operationsUrl}/readyz`)).status).toBe(200);
  await writeFile(path, routes);
  await turnsTo("Ready");
});

it("reports which upstream accepts no connection, stays ready as degraded, and requests no payment", async () => {
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  const routes = { "GET /data": { accepts, upstream: "http://127.0.0.1:1/data" } };
  await using own = await market.openOwnShop({}, { routes });
  const url = `${own.origin}/data`;
  const payment = await signPaymentFor(url);
  for (let sent = 0; sent < 3; sent += 1) expect((await pay(url, payment)).status).toBe(502);
  expect((await fetch(url)).status).toBe(503);
  const readyz = await fetch(`${own.operationsUrl}/readyz`);
  const message =
    "the last 3 paid requests to http://127.0.0.1:1 failed, uncharged: the upstream can't be reached; it is probed every 5 s";
  expect([readyz.status, await readyz.json()]).toMatchObject([
    200,
    { status: "degraded", checks: { upstreams: { ok: false, message, tolerated: true } } },
  ]);
});

/** Opens a seller with one route whose upstream fails three payments, and reports whether it is then degraded. */
async function openFailingShop(key: "GET /data" | "POST /data", status: 500 | "unreachable") {
  await using resources = new AsyncDisposableStack();
  const asked: string[] = [];
  let answered = 200;
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(answered).end("{}");
  });
  const upstream = resources.use(await listenLocally(server));
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  const routes = { [key]: { accepts, upstream: `${upstream.url}/data` } };
  const own = resources.use(await market.openOwnShop({}, { routes }));
  const url = `${own.origin}/data`;
  const method = key.startsWith("GET") ? "GET" : "POST";
  const buy = async () => (await pay(url, await signPaymentFor(url, { method }), { method })).status;
  const fail = async () => {
    if (status === "unreachable") await upstream[Symbol.asyncDispose]();
    else answered = status;
  };
  await fail();
  for (let sent = 0; sent < 3; sent += 1) expect(await buy()).toBe(502);
  const recover = async () => {
    answered = 200;
    if (status === "unreachable") await once(server.listen(upstream.port, "127.0.0.1"), "listening");
  };
  const check = async () => {
    const response = await fetch(`${own.operationsUrl}/readyz`);
    return ((await response.json()) as { checks: { upstreams: { ok: boolean; message: string } } }).checks.upstreams;
  };
  const kept = resources.move();
  return { url, asked, buy, fail, recover, check, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

it.each(["unreachable", 500] as const)(
  "probes a failing upstream (%s) until it recovers, without a payment",
  async (status) => {
    using _sooner = accelerateWaits({ waitsMs: [5_000], times: 20 });
    await using own = await openFailingShop("GET /data", status);
    const failed = own.asked.length;
    if (status === 500) await until("it is probed twice", generousMs, () => own.asked.length >= failed + 2);
    const message = expect.stringMatching(
      /^the last 3 paid requests to .* failed, uncharged: .*; it is probed every 5 s$/,
    );
    expect(await own.check()).toEqual({ ok: false, message, tolerated: true });
    expect((await fetch(own.url)).status).toBe(status === 500 ? 402 : 503);
    await own.recover();
    await until("it is healthy", generousMs, async () => (await own.check()).ok);
    expect((await fetch(own.url)).status).toBe(402);
    expect(new Set(own.asked.slice(failed))).toEqual(new Set(["HEAD /data"]));
    await own.fail();
    expect([await own.buy(), (await own.check()).ok], "a single failure counts again").toEqual([502, false]);
    await own.recover();
    await until("it is healthy again", generousMs, async () => (await own.check()).ok);
    expect(await own.buy()).toBe(200);
  },
);

it("reports an upstream that failed POST requests until a payment succeeds, and sends it none without a payment", async () => {
  using _sooner = accelerateWaits({ waitsMs: [5_000], times: 1_000 });
  await using own = await openFailingShop("POST /data", 500);
  await own.recover();
  const message = expect.stringMatching(/: the upstream returned HTTP 500; the next one that succeeds clears this$/);
  expect(await own.check()).toEqual({ ok: false, message, tolerated: true });
  expect(await own.buy()).toBe(200);
  expect(await own.check()).toEqual({ ok: true, message: "no upstream fails" });
  expect(own.asked).toEqual(Array(4).fill("POST /data"));
});

it("requests no payment and is not ready while its ledger's file is missing", async () => {
  await using folder = await createTemporaryFolder();
  const [path, elsewhere] = [join(folder.path, "claims.sqlite"), join(folder.path, "elsewhere.sqlite")];
  // Shortens the ten seconds between two checks of a healthy ledger.
  using _sooner = accelerateWaits({ waitsMs: [10_000], times: 20 });
  await using own = await market.openOwnShop({ GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: path });
  const readyz = async () => (await fetch(`${own.operationsUrl}/readyz`)).status;
  const statuses = async () => [await readyz(), (await fetch(`${own.origin}/data`)).status];
  await until("it is ready", generousMs, async () => (await readyz()) === 200);
  await rename(path, elsewhere);
  await until("it is not ready", generousMs, async () => (await readyz()) === 503);
  expect(await statuses()).toEqual([503, 503]);
  await rename(elsewhere, path);
  await until("it is ready again", generousMs, async () => (await readyz()) === 200);
  expect(await statuses()).toEqual([200, 402]);
});
