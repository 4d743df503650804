import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { payingFetch } from "#client/paying-fetch.ts";
import { resourceServer } from "#resource-server/main.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startRpcTap, type RpcTap } from "../support/facilitator/rpc-tap.ts";
import {
  createLedgerFolder,
  startFacilitator,
  startFacilitatorInProcess,
  type FacilitatorClient,
  type FacilitatorLocation,
} from "../support/facilitator/running-facilitator.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";
import { buildSettlingEnvironment, createTemporaryFolder, findUrl } from "../support/payments/shop.ts";
import { startUpstream } from "../support/payments/test-upstream.ts";
import { startInProcess } from "../support/service-in-process.ts";
import type { ServiceProcess } from "../support/service-process.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";

const resources = new AsyncDisposableStack();
const payee = testAccount(2).address;
const [aliceKey, bobKey] = ["alice-key-0123456789", "bob-key-0123456789"];
/** Two chains, whose token has the same address, and a node of the second one that a test can make unavailable. */
let one: PaymentChain;
let other: PaymentChain;
let tap: RpcTap;
let ledgerPath: string;
let facilitator: FacilitatorClient;
/** The first facilitator's process. */
let process: ServiceProcess;

beforeAll(async () => {
  [one, other] = await Promise.all([startPaymentChain(), startPaymentChain({ chainId: 1673 })]);
  resources.use(one);
  resources.use(other);
  tap = resources.use(await startRpcTap(other.url));
  ledgerPath = resources.use(await createLedgerFolder()).path("networks");
  const first = await startFacilitator(describePlace());
  [facilitator, process] = [first, first.process];
  resources.defer(() => facilitator[Symbol.asyncDispose]());
});

afterAll(() => resources.disposeAsync());

function describePlace(): FacilitatorLocation {
  const networks = [
    {
      chain: { id: 1673, rpcUrl: tap.url },
      assets: [{ address: other.token, name: "USDC", version: "2", minAmount: 5 }],
      settlement: { confirmations: 2 },
    },
  ];
  const sellers = [{ name: "alice" }, { name: "bob", gasPerDay: 5, networks: [{ id: 1673, gasPerDay: 1e-9 }] }];
  const env = {
    GATEHOUSE_FACILITATOR_NETWORKS: JSON.stringify(networks),
    GATEHOUSE_FACILITATOR_SELLERS: JSON.stringify(sellers),
    GATEHOUSE_FACILITATOR_API_KEYS: `alice=${aliceKey},bob=${bobKey},the-key-of-nobody`,
  };
  return { rpcUrl: one.url, token: one.token, ledgerPath, env, constants: { "chain.rpcTimeoutMs": 2_000 } };
}

const withKey = (key: string) => facilitator.as({ "X-API-Key": key, "Idempotency-Key": `a-sale-${key}` });
const sellerOfAll = () => withKey("the-key-of-nobody");

async function countSent(): Promise<readonly number[]> {
  const countedRequests = [one, other].map(({ anvil }) =>
    anvil.request<string>("eth_getTransactionCount", [testAccount(0).address, "pending"]),
  );
  return (await Promise.all(countedRequests)).map(Number);
}

async function readReadiness(): Promise<Readonly<{ status: string; checks: Record<string, object> }>> {
  return (await (await fetch(`${facilitator.operationsUrl}/readyz`)).json()) as never;
}

test("settles on two chains, and lists both in /supported", async () => {
  const supportedResponse = (await (await fetch(`${facilitator.url}/supported`)).json()) as {
    kinds: readonly Readonly<{ scheme: string; network: string }>[];
    assets: readonly unknown[];
    signers: unknown;
  };
  const exact = supportedResponse.kinds.filter(({ scheme }) => scheme === "exact").map(({ network }) => network);
  expect(exact).toEqual(["eip155:1672", "eip155:1673"]);
  expect(supportedResponse.assets).toEqual([
    { network: "eip155:1672", address: one.token, decimals: 6 },
    { network: "eip155:1673", address: other.token, decimals: 6 },
  ]);
  expect(supportedResponse.signers).toEqual({ "eip155:*": [testAccount(0).address] });

  for (const [chain, chainId] of [
    [one, 1672],
    [other, 1673],
  ] as const) {
    const payment = await signPayment(chain.token, { chainId });
    const balanceBefore = await chain.balanceOf(payee);
    expect((await sellerOfAll().verify(payment)).body).toMatchObject({ isValid: true });
    const { body } = await sellerOfAll().settle(payment);
    expect(body).toMatchObject({ success: true, network: `eip155:${chainId}` });
    expect((await chain.balanceOf(payee)) - balanceBefore).toBe(amount);
  }
  const metrics = await (await fetch(`${facilitator.operationsUrl}/metrics`)).text();
  for (const network of ["eip155:1672", "eip155:1673"])
    expect(metrics).toMatch(
      new RegExp(
        `^gatehouse_facilitator_settle_duration_seconds_count\\{outcome="settled",network="${network}"\\} 1$`,
        "m",
      ),
    );
});

test("rejects a payment on a chain other than its own, and on an unsupported chain", async () => {
  const payment = await signPayment(one.token);
  const moved = { ...payment.paymentRequirements, network: "eip155:1673" } as const;
  const replayed = { paymentPayload: { ...payment.paymentPayload, accepted: moved }, paymentRequirements: moved };
  expect((await sellerOfAll().verify(replayed)).body.invalidReason).toBe("invalid_exact_evm_signature");

  const unservedPayment = await signPayment(one.token, { chainId: 1 });
  const message = 'network "eip155:1" is not supported; use "eip155:1672" or "eip155:1673".';
  expect((await sellerOfAll().verify(unservedPayment)).body).toMatchObject({
    isValid: false,
    invalidReason: "invalid_network",
    invalidMessage: message,
  });
  expect((await sellerOfAll().settle(unservedPayment)).body).toMatchObject({ success: false, errorMessage: message });
});

test("applies a seller's limits per network, and rejects networks not listed for it", async () => {
  const [here, there] = [await signPayment(one.token), await signPayment(other.token, { chainId: 1673 })];
  expect((await withKey(aliceKey).verify(here)).body).toMatchObject({ isValid: true });
  expect((await withKey(aliceKey).verify(there)).body).toMatchObject({
    invalidReason: "invalid_network",
    invalidMessage: expect.stringMatching(/^eip155:1673 is not settled for alice: it is not in networks of alice /),
  });
  const again = async () => withKey(bobKey).settle(await signPayment(other.token, { chainId: 1673 }));
  expect((await again()).body).toMatchObject({ success: true });
  expect((await again()).body.error, "its gas there is spent").toMatch(/^bob may use 1e-9 of the native currency/);
  expect((await withKey(bobKey).settle(await signPayment(one.token))).body).toMatchObject({ success: true });
});

test.each(["by a facilitator", "in its own process"])(
  "a resource server sells one route on both chains, settled %s",
  async (where) => {
    await using folder = await createTemporaryFolder();
    await using upstream = await startUpstream();
    const offer = { scheme: "exact", price: "0.01" };
    const asset = { address: other.token, name: "USDC", version: "2", decimals: 6 };
    const accepts = [
      { ...offer, network: "eip155:1672" },
      { ...offer, network: "eip155:1673", asset },
    ];
    const routesPath = join(folder.path, "routes.json5");
    await writeFile(routesPath, JSON.stringify({ "GET /data": { accepts, upstream: `${upstream.url}/data` } }));
    const places = {
      routesPath,
      settlementPath: join(folder.path, "s.sqlite"),
      claimsPath: join(folder.path, "c.sqlite"),
    };
    const itself = buildSettlingEnvironment(one, places);
    const env =
      where === "in its own process"
        ? {
            ...itself,
            GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_NETWORKS: JSON.stringify([{ id: 1673, rpcUrl: other.url }]),
          }
        : {
            ...Object.fromEntries(Object.entries(itself).filter(([name]) => !name.includes("SETTLEMENT"))),
            GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: facilitator.url,
            GATEHOUSE_RESOURCE_SERVER_FACILITATOR_API_KEY: "the-key-of-nobody",
          };
    await using shop = await startInProcess(resourceServer, env);
    const url = `${findUrl(shop)}/data`;
    await until("it sells", generousMs, async () => (await fetch(url)).status === 402);
    for (const [chain, network] of [
      [one, "eip155:1672"],
      [other, "eip155:1673"],
    ] as const) {
      const balanceBefore = await chain.balanceOf(payee);
      const assets = [{ network, address: chain.token, decimals: 6 }];
      const buy = payingFetch({ account: testAccount(1).account, assets, maxPerPayment: "0.05", maxTotal: "1.00" });
      expect((await buy(url)).status).toBe(200);
      expect((await chain.balanceOf(payee)) - balanceBefore).toBe(amount);
    }
  },
);

test("settles on one chain while the other's node is down, and resumes both after a restart", async () => {
  const payments = [await signPayment(one.token), await signPayment(other.token, { chainId: 1673 })] as const;
  const before = [await one.balanceOf(payee), await other.balanceOf(payee)] as const;
  await Promise.all([one, other].map(({ anvil }) => anvil.request("evm_setIntervalMining", [3_600])));
  const sent = await countSent();
  const cut = payments.map((payment) =>
    sellerOfAll()
      .settle(payment)
      .catch(() => undefined),
  );
  await until("both are sent", generousMs, async () => String(await countSent()) === String(sent.map((n) => n + 1)));
  await process.end("SIGKILL");
  await Promise.all(cut);
  tap.rule(() => ({ status: 503, body: "gone" }));
  facilitator = await startFacilitatorInProcess(describePlace());

  const unready = await readReadiness();
  expect(unready).toMatchObject({ status: "degraded", checks: { signer: { ok: false, tolerated: true } } });
  expect(unready.checks["chain"]).toMatchObject({
    ok: false,
    message: expect.stringMatching(/^eip155:1673: /),
    tolerated: true,
  });
  const [first, second] = payments;
  const pendingSettlement = sellerOfAll().settle(first);
  await one.anvil.request("evm_setIntervalMining", [1]);
  expect((await pendingSettlement).body).toMatchObject({ success: true });
  expect((await sellerOfAll().verify(await signPayment(other.token, { chainId: 1673 }))).status).toBe(500);

  tap.rule(() => "forward");
  await other.anvil.request("evm_setIntervalMining", [1]);
  expect((await sellerOfAll().settle(second)).body).toMatchObject({ success: true });
  expect([(await one.balanceOf(payee)) - before[0], (await other.balanceOf(payee)) - before[1]]).toEqual([
    amount,
    amount,
  ]);
  await until("everything is ready", generousMs, async () => !JSON.stringify(await readReadiness()).includes("false"));
});
