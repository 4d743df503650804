import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ExactEvmScheme } from "@x402/evm";
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from "@x402/core/http";
import type { PaymentRequired, PaymentRequirements, SettleResponse } from "@x402/core/types";
import type { LocalAccount } from "viem/accounts";
import { facilitator } from "#facilitator/main.ts";
import { resourceServer } from "#resource-server/main.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "./payment-chain.ts";
import type { ConstantOverrides } from "../constant-overrides.ts";
import { buildFacilitatorEnvironment } from "../facilitator/running-facilitator.ts";
import { startInProcess, type ServiceInProcess } from "../service-in-process.ts";
import { startService, type ServiceProcess } from "../service-process.ts";
import { startFacilitatorProxy, type FacilitatorProxy } from "../../resource-server/facilitator-proxy.ts";
import { startUpstream, type TestUpstream } from "./test-upstream.ts";

export const payee = testAccount(2);
export const payer = testAccount(1);

export type Market = AsyncDisposable &
  Readonly<{
    chain: PaymentChain;
    facilitator: FacilitatorProxy;
    /** The facilitator behind the proxy, and its ledger's path. */
    settler: ServiceInProcess & Readonly<{ folder: string }>;
    upstream: TestUpstream;
    /** Starts a seller that a test can kill. */
    openShop: OpenShop<ServiceProcess>;
    openShopInProcess: OpenShop<ServiceInProcess>;
    /** Starts a seller in its own directory; `routes` replaces the usual ones. */
    openOwnShop: (
      env?: Readonly<Record<string, string>>,
      options?: Readonly<{ routes?: object; constants?: ConstantOverrides }>,
    ) => Promise<OwnShop>;
    shopEnvironment: (folder: string) => Promise<Record<string, string>>;
  }>;

type OpenShop<Shop> = (
  folder: string,
  env?: Readonly<Record<string, string>>,
  constants?: ConstantOverrides,
) => Promise<Shop>;

/** A seller in this process, with its folder and the URLs of its two ports. */
type OwnShop = ServiceInProcess & Readonly<{ folder: string; origin: string; operationsUrl: string }>;

export async function openMarket(more: Readonly<Record<string, string>> = {}): Promise<Market> {
  await using resources = new AsyncDisposableStack();
  const chain = resources.use(await startPaymentChain());
  const folder = resources.use(await createTemporaryFolder());
  const real = resources.use(
    await startInProcess(facilitator, {
      ...buildFacilitatorEnvironment({
        rpcUrl: chain.url,
        token: chain.token,
        ledgerPath: join(folder.path, "facilitator.sqlite"),
      }),
      ...more,
    }),
  );
  const proxy = resources.use(await startFacilitatorProxy(real.urls["facilitator"] ?? ""));
  const upstream = resources.use(await startUpstream());
  const shopEnvironment = async (state: string) => {
    const routesPath = join(state, "routes.json5");
    await writeFile(routesPath, formatRoutes(upstream.url));
    return {
      GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: "0",
      GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
      GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
      GATEHOUSE_RESOURCE_SERVER_PAY_TO: payee.address,
      GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
      GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: proxy.url,
      GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: join(state, "claims.sqlite"),
      GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_LEDGER_PATH: join(state, "settlement.sqlite"),
      GATEHOUSE_RESOURCE_SERVER_PAYMENT_RESUME_INTERVAL_MS: "200",
    };
  };
  const openShop: Market["openShop"] = async (state, env = {}, constants) =>
    startService("resource-server", { ...(await shopEnvironment(state)), ...env }, { constants });
  const openShopInProcess: Market["openShopInProcess"] = async (state, env = {}, constants = {}) =>
    startInProcess(resourceServer, { ...(await shopEnvironment(state)), ...env }, constants);
  const owned = resources.move();
  return {
    chain,
    facilitator: proxy,
    settler: { ...real, folder: folder.path },
    upstream,
    shopEnvironment,
    openShop,
    openShopInProcess,
    async openOwnShop(env = {}, { routes, constants } = {}) {
      await using parts = new AsyncDisposableStack();
      const own = parts.use(await createTemporaryFolder()).path;
      const routesPath = join(own, "own-routes.json5");
      if (routes !== undefined) await writeFile(routesPath, JSON.stringify(routes));
      const priced = routes === undefined ? env : { ...env, GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath };
      const shop = parts.use(await openShopInProcess(own, priced, constants));
      const kept = parts.move();
      const urls = { origin: findUrl(shop), operationsUrl: findOperationsUrl(shop) };
      return { ...shop, folder: own, ...urls, [Symbol.asyncDispose]: () => kept.disposeAsync() };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A market with one seller. */
export type MarketWithShop = Market & Readonly<{ shop: OwnShop; folder: string; url: string }>;

/** Starts a market, and a seller in it; `url` is that of its sold route `/data`. */
export async function openMarketWithShop(env: Readonly<Record<string, string>> = {}): Promise<MarketWithShop> {
  await using resources = new AsyncDisposableStack();
  const market = resources.use(await openMarket());
  const shop = resources.use(await market.openOwnShop(env));
  const owned = resources.move();
  const { folder, origin } = shop;
  const url = `${origin}/data`;
  return { ...market, shop, folder, url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Sends a request with a payment. */
export function pay(url: string, payment: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { ...init, headers: { "PAYMENT-SIGNATURE": payment } });
}

/** Reads the settlement from a response. */
export function readSettlement({ headers }: Response): SettleResponse {
  return decodePaymentResponseHeader(headers.get("PAYMENT-RESPONSE") ?? "");
}

/** Reads the request for payment from a response. */
export function readRequired({ headers }: Response): PaymentRequired {
  return decodePaymentRequiredHeader(headers.get("PAYMENT-REQUIRED") ?? "");
}

/** Builds the environment of a resource server that verifies and settles by itself on a chain. */
export function buildSettlingEnvironment(
  { token, url }: Pick<PaymentChain, "token" | "url">,
  {
    routesPath,
    settlementPath,
    claimsPath,
  }: Readonly<{ routesPath: string; settlementPath: string; claimsPath: string }>,
) {
  return {
    GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: "0",
    GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: "0",
    GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: routesPath,
    GATEHOUSE_RESOURCE_SERVER_PAY_TO: payee.address,
    GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: token,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_RPC_URL: url,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(0).privateKey,
    GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_LEDGER_PATH: settlementPath,
    GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: claimsPath,
  };
}

export async function createTemporaryFolder(): Promise<AsyncDisposable & Readonly<{ path: string }>> {
  const path = await mkdtemp(join(tmpdir(), "gatehouse-shop-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export function findUrl(shop: Pick<ServiceProcess, "urls">): string {
  return shop.urls["resource-server"] as string;
}

export function findOperationsUrl(shop: Pick<ServiceProcess, "urls">): string {
  return shop.urls["resource-server-operations"] as string;
}

export async function signPaymentFor(url: string, init?: RequestInit): Promise<string> {
  const [offer] = readRequired(await fetch(url, init)).accepts;
  return signOffer(offer as PaymentRequirements);
}

export async function signOffer(accepted: PaymentRequirements, signer: LocalAccount = payer.account): Promise<string> {
  const { payload } = await new ExactEvmScheme(signer).createPaymentPayload(2, accepted);
  return encodePaymentSignatureHeader({ x402Version: 2, accepted, payload });
}

function formatRoutes(upstream: string): string {
  const accepts = `{ scheme: "exact", price: "0.01", network: "eip155:1672" }`;
  return `{
    "GET /data": { accepts: ${accepts}, description: "Data", mimeType: "application/json", upstream: "${upstream}/data" },
    "GET /other": { accepts: ${accepts}, upstream: "${upstream}/other" },
    "POST /api/info": { accepts: ${accepts}, upstream: "${upstream}/info" },
  }`;
}
