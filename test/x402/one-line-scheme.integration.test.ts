import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import secp256k1 from "secp256k1";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { payingFetch } from "#client/paying-fetch.ts";
import { facilitator } from "#facilitator/main.ts";
import { resourceServer } from "#resource-server/main.ts";
import type * as Table from "#x402/schemes.ts";
import { startRpcTap, type RpcTap } from "../support/facilitator/rpc-tap.ts";
import { buildFacilitatorEnvironment } from "../support/facilitator/running-facilitator.ts";
import { startInProcess, type ServiceInProcess } from "../support/service-in-process.ts";
import { startUpstream } from "../support/payments/test-upstream.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { reads } from "./brief-scheme.ts";

// Besides its own file, a scheme needs only a line in this table.
vi.mock("#x402/schemes.ts", async (original) => {
  const { schemes } = await original<typeof Table>();
  const { brief } = await import("./brief-scheme.ts");
  return { schemes: [...schemes, brief] };
});

const [payer, payee] = [testAccount(1), testAccount(2)];
const resources = new AsyncDisposableStack();
const services = resources.use(new AsyncDisposableStack());
let chain: PaymentChain;
let tap: RpcTap;
let folder: string;
let facilitatorUrl: string;
let shopUrl: string;
let shop: ServiceInProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gatehouse-brief-"));
  resources.defer(() => rm(folder, { recursive: true }));
  chain = resources.use(await startPaymentChain());
  tap = resources.use(await startRpcTap(chain.url));
  const upstream = resources.use(await startUpstream());
  const ledgerPath = join(folder, "facilitator.sqlite");
  const place = { rpcUrl: tap.url, token: chain.token, ledgerPath };
  const settler = services.use(await startInProcess(facilitator, buildFacilitatorEnvironment(place)));
  facilitatorUrl = settler.urls["facilitator"] ?? "";
  const routesPath = join(folder, "routes.json5");
  const offer = { scheme: "brief", price: "0.01", network: "eip155:1672" };
  await writeFile(routesPath, JSON.stringify({ "GET /data": { accepts: offer, upstream: `${upstream.url}/data` } }));
  const shopEnvironment = {
    GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: "0",
    GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
    GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
    GATEHOUSE_RESOURCE_SERVER_PAY_TO: payee.address,
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
    GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: facilitatorUrl,
    GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: join(folder, "claims.sqlite"),
  };
  shop = services.use(await startInProcess(resourceServer, shopEnvironment));
  shopUrl = shop.urls["resource-server"] ?? "";
});

afterAll(() => resources.disposeAsync());

/** Rows of a stopped service's ledger. */
function rows(ledger: string, sql: string): readonly unknown[] {
  const database = new DatabaseSync(join(folder, ledger), { readOnly: true });
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    database.close();
  }
}

test("supports, offers, verifies, settles and records a scheme added as one file and one line", async () => {
  const supportedResponse = (await (await fetch(`${facilitatorUrl}/supported`)).json()) as { kinds: readonly object[] };
  expect(supportedResponse.kinds).toEqual(
    expect.arrayContaining(["exact", "brief"].map((scheme) => ({ x402Version: 2, scheme, network: "eip155:1672" }))),
  );
  const unpaidResponse = await fetch(`${shopUrl}/data`);
  const { accepts } = decodePaymentRequiredHeader(unpaidResponse.headers.get("PAYMENT-REQUIRED") ?? "");
  expect(accepts).toMatchObject([{ scheme: "brief", amount: "10000", extra: { name: "USDC", version: "2" } }]);

  await until("the seller has had its terms verified", generousMs, () => reads.count === 1);
  reads.count = 0;
  const balanceBefore = await chain.balanceOf(payee.address);
  tap.counts.clear();
  const recover = vi.spyOn(secp256k1, "ecdsaRecover");
  const asset = { network: "eip155:1672", address: chain.token, decimals: 6 } as const;
  const pay = payingFetch({ account: payer.account, assets: [asset], maxPerPayment: "0.01", maxTotal: "0.01" });
  const boughtResponse = await pay(`${shopUrl}/data`);
  expect(boughtResponse.status).toBe(200);
  expect((await chain.balanceOf(payee.address)) - balanceBefore).toBe(10_000n);

  // Parsed by the seller, and by the facilitator for each of two requests.
  expect(reads.count).toBe(3);
  expect(recover, "the signature is recovered once").toHaveBeenCalledTimes(1);
  expect(tap.counts.get("eth_estimateGas"), "it is simulated once").toBe(1);
  expect(tap.counts.get("eth_sendRawTransaction")).toBe(1);

  await until("its delivery is recorded", generousMs, async () =>
    (await shop.metrics.metrics()).includes('gatehouse_payment_claims{state="delivered"} 1'),
  );
  await services.disposeAsync();
  const kept = { asset: chain.token.toLowerCase(), payer: payer.address.toLowerCase() };
  expect(rows("facilitator.sqlite", "SELECT asset, payer, amount, state FROM settlement")).toEqual([
    { ...kept, amount: "10000", state: "settled" },
  ]);
  expect(rows("claims.sqlite", "SELECT asset, payer, state FROM claims")).toEqual([{ ...kept, state: "delivered" }]);
});
