import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { pino } from "pino";
import { Registry } from "prom-client";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { payingFetch, PaymentRefusedError } from "#client/paying-fetch.ts";
import { createApp, type App } from "#daemon/http/app.ts";
import { createJsonPosts, type ServePost } from "#daemon/http/json-posts.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { createFacilitatorMetrics } from "#facilitator/facilitator-metrics.ts";
import { addFacilitatorRoutes, createPaymentPosts } from "#facilitator/http.ts";
import { createOperations, type SettledNetwork } from "#facilitator/schemes/operations.ts";
import type { Facilitation } from "#resource-server/facilitators/facilitation.ts";
import { callInProcess } from "#resource-server/facilitators/facilitator-in-process.ts";
import { createFacilitatorOverHttp } from "#resource-server/facilitators/facilitator-over-http.ts";
import { createSellingPort, type NodeBindings, type SellingPort } from "#resource-server/selling-port.ts";
import { completeRoutes } from "#resource-server/facilitators/completed-offers.ts";
import { openLiveRoutes, type LiveRoutesOptions } from "#resource-server/routes/live-routes.ts";
import { MemoryBudget } from "#daemon/memory/memory-budget.ts";
import { createFilesInForce } from "#daemon/files/files-in-force.ts";
import { exact } from "#x402/exact.ts";
import type { Transfers } from "#x402/scheme.ts";
import { openTestSelling } from "#resource-server/testing/test-selling.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { createTabScheme, type TabScheme } from "./tab-scheme.ts";

const network = "eip155:1672";
const asset = { network, address: "0x00000000000000000000000000000000000000AA", decimals: 6 } as const;
const token = { network, address: asset.address, name: "USDC", version: "2" } as const;
const payTo = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const account = privateKeyToAccount(`0x${"11".repeat(32)}`);
const log = pino({ level: "silent" });
const word = "shibboleth";

/** A line on a tab is no transfer: its scheme queries the facilitator for none. */
const noTransfers: Transfers = {
  assets: new Map(),
  isSigned: () => false,
  contracts: new Set(),
  refusePayee: () => undefined,
  checkWallet: async () => undefined,
  read: () => Promise.reject(new TypeError("a tab is no transfer")),
  clock: Date.now,
  verify: () => Promise.reject(new TypeError("a tab is no transfer")),
  settle: () => Promise.reject(new TypeError("a tab is no transfer")),
  settleNothing: () => Promise.reject(new TypeError("a tab is no transfer")),
};

/** A shop that sells by `exact` and by the tab, and a facilitator that settles the tab. */
async function openShop(where: "over HTTP" | "in process") {
  const resources = new AsyncDisposableStack();
  const { tab, written, reads } = createTabScheme(word);
  const metrics = createFacilitatorMetrics([new Registry()]);
  const settledOn: SettledNetwork = {
    network,
    signers: [`0x${"05".repeat(20)}`],
    transfersFor: () => noTransfers,
    shortage: () => undefined,
    decimals: () => new Map(),
    contracts: () => new Set(),
  };
  const settled = [{ scheme: tab, settling: await tab.settling() }];
  const operations = createOperations({ networks: [settledOn], schemes: settled }, { metrics });
  const limits = { bodyLimitBytes: 65_536 };
  const registry = new Registry();
  const facilitatorApp = createApp(limits, { log });
  const routed = { facilitator: { ...operations, networks: [settledOn] }, apiKeys: undefined, log } as const;
  addFacilitatorRoutes(facilitatorApp, routed);
  const memory = new MemoryBudget({ totalBytes: 1e6, addressBytes: 1e6, connectionBytes: 1e6 });
  const servePost = createJsonPosts(createPaymentPosts(routed), limits, {
    log,
    metrics: registry,
    mask: createMask(),
    memory,
  });
  const facilitatorUrl = await listen(facilitatorApp, resources, servePost);
  const remote = resources.use(
    createFacilitatorOverHttp(
      { url: facilitatorUrl, kinds: [{ scheme: "tab", network }], verifyTimeoutMs: 5_000, settleTimeoutMs: 5_000 },
      { fetch, log, signal: new AbortController().signal },
    ),
  );
  const facilitation: Facilitation = {
    ...(where === "over HTTP" ? remote : { ...remote, ...callInProcess(operations) }),
    settlesNothing: () => false,
  };
  const schemes = [exact, tab];
  const app = createApp({ bodyLimitBytes: 65_536 }, { log });
  let served = 0;
  const routes = resources.use(await openShopRoutes(schemes));
  const find = completeRoutes(routes, () => ({ kinds: [], extensions: [] }));
  const { serveSold, ledger } = resources.use(
    await openTestSelling({ find, schemes }, { facilitation, onWork: () => void (served += 1) }),
  );
  const port = createSellingPort(app, { ...limits, find, serveSold, metrics: registry, log });
  const url = `${await listen(port, resources)}/data`;
  return { url, ledger, remote, operations, reads, written, served: () => served, resources };
}

async function openShopRoutes(schemes: NonNullable<LiveRoutesOptions["schemes"]>) {
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-tab-"));
  try {
    const path = join(folder, "routes.json5");
    const offers = schemes.map(({ name }) => ({ scheme: name, price: "0.01", network }));
    await writeFile(path, JSON.stringify({ "GET /data": { accepts: offers, upstream: "http://upstream.test/data" } }));
    const options = { path, setting: "routesPath", token, payTo, validitySeconds: 300, formerOfferMs: 0, schemes };
    const dependencies = { clock: Date.now, check: () => undefined, onRoutes: () => undefined };
    return await openLiveRoutes(options, { ...dependencies, log, files: createFilesInForce(new Registry()) });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function listen(
  app: Pick<App, "fetch"> | SellingPort,
  resources: AsyncDisposableStack,
  servePost?: ServePost,
): Promise<string> {
  const listener = getRequestListener((request, env) => app.fetch(request, env as NodeBindings));
  const server = createServer((request, response) => {
    if (servePost?.(request, response) !== true) void listener(request, response);
  });
  return resources.use(await listenLocally(server)).url;
}

function buyer(scheme: TabScheme["tab"], onHeader: (header: string) => void = () => undefined) {
  return payingFetch(
    { account, assets: [asset], maxPerPayment: "0.05", maxTotal: "0.05" },
    {
      schemes: [scheme],
      fetch: async (input, init) => {
        const request = new Request(input, init);
        const header = request.headers.get("PAYMENT-SIGNATURE");
        if (header !== null) onHeader(header);
        return fetch(request);
      },
    },
  );
}

test.each(["over HTTP", "in process"] as const)(
  "a second scheme is quoted, paid, verified, settled, and known again by its own key, with a facilitator %s",
  async (where) => {
    const { url, ledger, remote, operations, reads, written, served, resources } = await openShop(where);
    await using _open = resources;

    const unpaid = await fetch(url);
    const { accepts } = decodePaymentRequiredHeader(unpaid.headers.get("PAYMENT-REQUIRED") ?? "");
    expect(accepts.map(({ scheme, amount, extra }) => ({ scheme, amount, extra }))).toEqual([
      { scheme: "exact", amount: "10000", extra: { token: "USDC", name: "USDC", version: "2" } },
      { scheme: "tab", amount: "20000", extra: { tab: "open" } },
    ]);
    expect(operations.supported().kinds).toEqual([{ x402Version: 2, scheme: "tab", network }]);
    await until("the facilitator is known to settle it", generousMs, async () => remote.readiness().ok);

    const headers: string[] = [];
    const bought = await buyer(createTabScheme(word).tab, (header) => headers.push(header))(url);
    expect([bought.status, await bought.text()]).toEqual([200, "sold"]);
    expect(written).toEqual(["alice line-1 20000"]);
    expect(reads()).toBe(where === "over HTTP" ? 3 : 1);

    const key = { network, asset: asset.address.toLowerCase(), payer: "alice", nonce: "line-1" };
    await until("it is delivered", generousMs, async () => (await ledger.find(key))?.state === "delivered");
    const again = await fetch(url, { headers: { "PAYMENT-SIGNATURE": headers[0] ?? "" } });
    expect([again.status, await again.text()]).toEqual([200, "sold"]);
    expect([written, served()]).toEqual([["alice line-1 20000"], 1]);
  },
);

test("what its facilitator refuses is answered 402 with the reason, and nothing is done", async () => {
  const { url, served, written, resources } = await openShop("over HTTP");
  await using _open = resources;
  const refused = await buyer(createTabScheme("sesame").tab)(url);
  expect(refused.status).toBe(402);
  expect(decodePaymentRequiredHeader(refused.headers.get("PAYMENT-REQUIRED") ?? "").error).toBe(
    "invalid_exact_evm_signature",
  );
  expect([served(), written]).toEqual([0, []]);
});

test("a payload that has not its form is named by the path of what is wrong", async () => {
  const { url, resources } = await openShop("over HTTP");
  await using _open = resources;
  const unpaid = decodePaymentRequiredHeader((await fetch(url)).headers.get("PAYMENT-REQUIRED") ?? "");
  const payment = { x402Version: 2, accepted: unpaid.accepts[1], payload: { account: "alice", line: 1, word } };
  const header = Buffer.from(JSON.stringify(payment)).toString("base64");
  const refused = await fetch(url, { headers: { "PAYMENT-SIGNATURE": header } });
  expect(decodePaymentRequiredHeader(refused.headers.get("PAYMENT-REQUIRED") ?? "").error).toMatch(
    /^invalid_payload: PAYMENT-SIGNATURE: payload\.line: /,
  );
});

test("a client that was not given the scheme does not pay by it", async () => {
  const { url, resources } = await openShop("over HTTP");
  await using _open = resources;
  const other = { ...createTabScheme(word).tab, name: "slate" };
  await expect(buyer(other)(url)).rejects.toThrow(PaymentRefusedError);
  await expect(buyer(other)(url)).rejects.toThrow('scheme "tab" is not "slate"');
});
