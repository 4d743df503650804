import { afterAll, beforeAll, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createFakeNode, type FakeNode } from "#sidecar/testing/fake-node.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";
import { openMarketWithShop, type MarketWithShop } from "../support/payments/shop.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import { readContractedService } from "./api-contract.ts";

const token = "a-token-for-this-test-of-32-characters";
const sent = { "Content-Type": "application/json" };

const resources = new AsyncDisposableStack();
let market: MarketWithShop;
let node: FakeNode;
beforeAll(async () => {
  market = resources.use(await openMarketWithShop());
  node = resources.use(await createFakeNode());
  await node.start();
});
afterAll(() => resources.disposeAsync());

const untilOk = (url: string) => until(`${url} is OK`, generousMs, async () => (await fetch(url)).status === 200);

it("facilitator responses match its OpenAPI document", async () => {
  const { ask, unseen } = await readContractedService(market.settler.urls["facilitator"] ?? "");
  expect(await ask("GET", "/openapi.json")).toBe(200);
  expect(await ask("GET", "/health")).toBe(200);
  expect(await ask("GET", "/supported")).toBe(200);
  const asked = { headers: sent, body: JSON.stringify(await signPayment(market.chain.token)) };
  expect(await ask("POST", "/verify", asked)).toBe(200);
  expect(await ask("POST", "/settle", asked)).toBe(200);
  // The payment is already spent.
  expect(await ask("POST", "/verify", asked)).toBe(200);
  expect(await ask("POST", "/settle", asked)).toBe(200);
  expect(await ask("POST", "/verify", { headers: sent, body: "{}" })).toBe(400);
  expect(await ask("POST", "/settle", { body: "{}" })).toBe(415);
  expect(await ask("POST", "/settle", { headers: sent, body: " ".repeat(2_000_000) })).toBe(413);
  expect(unseen()).toEqual([]);
});

it("responses on a facilitator's admin port match its OpenAPI document", async () => {
  const { ask } = await readContractedService(market.settler.urls["facilitator-operations"] ?? "");
  for (const path of ["/livez", "/readyz", "/configuration", "/metrics", "/openapi.json", "/status", "/"]) {
    expect([path, await ask("GET", path)]).toEqual([path, 200]);
  }
});

it("resource server responses match its OpenAPI document", async () => {
  await untilOk(`${market.shop.operationsUrl}/readyz`);
  const { ask, unseen } = await readContractedService(market.shop.operationsUrl);
  for (const path of ["/livez", "/readyz", "/configuration", "/metrics", "/openapi.json", "/status", "/"]) {
    expect([path, await ask("GET", path)]).toEqual([path, 200]);
  }
  for (const path of unseen().map((operation) => operation.replace("GET ", ""))) {
    expect([path, await ask("GET", path, {}, market.shop.origin)]).toEqual([path, 200]);
  }
  expect(unseen()).toEqual([]);
});

it("sidecar responses match its OpenAPI document", async () => {
  await using service = await runSidecar(node, { GATEHOUSE_SIDECAR_UPKEEP_CONTROL_TOKEN: token });
  const url = service.urls["sidecar"] ?? "";
  for (const path of ["/startupz", "/readyz"]) await untilOk(`${url}${path}`);
  const { ask, unseen } = await readContractedService(url);
  for (const path of [
    "/livez",
    "/readyz",
    "/configuration",
    "/metrics",
    "/openapi.json",
    "/startupz",
    "/status",
    "/",
    "/runbooks/README.md",
    "/runbooks/node-down.md",
  ]) {
    expect([path, await ask("GET", path)]).toEqual([path, 200]);
  }
  expect(await ask("GET", "/runbooks/nothing.md")).toBe(404);
  const headers = { ...sent, Authorization: `Bearer ${token}` };
  expect(await ask("GET", "/control")).toBe(401);
  expect(await ask("GET", "/control", { headers })).toBe(200);
  expect(await ask("POST", "/control/resume", { headers })).toBe(200);
  expect(await ask("POST", "/control/restart", { headers })).toBe(200);
  expect(await ask("POST", "/control/adopt", { headers, body: "{}" })).toBe(400);
  expect(await ask("POST", "/control/adopt", { headers, body: JSON.stringify({ digest: "another" }) })).toBe(200);
  const source = JSON.stringify({ source: "/no/such/release" });
  expect(await ask("POST", "/control/upgrade", { headers, body: source })).toBe(200);
  expect(unseen()).toEqual([]);
});
