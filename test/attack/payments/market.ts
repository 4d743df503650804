import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { createPublicClient, http } from "viem";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";
import { startPaymentChain, testAccount } from "../../support/payments/payment-chain.ts";
import { createTemporaryFolder } from "../../support/payments/shop.ts";
import { startContained, startLocally, startWithinMs } from "../attacked-sidecar.ts";
import type { Target } from "../attacks/attack.ts";
import { forgedAddress } from "./hostile-payments.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

/** Price of every product, in the token's smallest unit. */
const price = 10_000n;
const signer = testAccount(0);
const payee = testAccount(2);
const longBytes = 2_000_000;
/** Disk limit of unfetched responses; a ledger's total limit is this plus the rest of its rows. */
const responseBytes = 24_000_000;

/**
 * A facilitator and a resource server to attack, in their containers, and a chain and an upstream that are not attacked.
 */
export type AttackedMarket = AsyncDisposable &
  Readonly<{
    target: Target & Readonly<{ market: NonNullable<Target["market"]> }>;
    /** Current and peak resident memory of the larger of the two processes. */
    memory: () => Promise<Readonly<{ nowMiB: number; peakMiB: number }>>;
    /** Number of exits of either process. */
    ends: () => Promise<number>;
    /** Queries both services' readiness; returns the message of one that is not ready, or undefined. */
    unready: () => Promise<string | undefined>;
    /** Transactions for which the signer has paid gas, and payments that the payee has received. */
    counts: () => Promise<Readonly<{ transactions: number; paid: number }>>;
    /** Bytes of both ledgers. */
    ledgerBytes: () => Promise<number>;
    /** Requests that the upstream received with a forged header. */
    forged: () => number;
  }>;

/**
 * Starts the market on the host's network: with an image, both services confined as in their deployment; without one,
 * from this checkout.
 */
export async function startMarket(image?: string): Promise<AttackedMarket> {
  await using starting = new AsyncDisposableStack();
  const chain = starting.use(await startPaymentChain());
  const upstream = starting.use(await startUpstream());
  const folder = starting.use(await createTemporaryFolder());
  const [facilitatorPort = 0, facilitatorOperations = 0, port = 0, operations = 0] = await findFreePorts(4);
  const places = await Promise.all(
    ["facilitator", "shop"].map(async (name) => {
      const place = join(folder.path, name);
      await mkdir(place);
      await chmod(place, 0o777);
      return place;
    }),
  );
  await chmod(folder.path, 0o755);
  const [facilitatorPlace = "", shopPlace = ""] = places;
  await writeFile(join(shopPlace, "routes.json5"), formatRoutes(upstream.url));
  const start = (service: string, place: string, env: Readonly<Record<string, string>>) =>
    image === undefined ? startLocally(service, env) : startContained(image, service, { folder: place, env });
  const placeOf = (place: string) => (image === undefined ? place : "/data");
  const token = { address: chain.token, name: "USDC", version: "2" };
  const facilitator = starting.use(
    await start("facilitator", facilitatorPlace, {
      GATEHOUSE_FACILITATOR_LISTEN_PORT: String(facilitatorPort),
      GATEHOUSE_FACILITATOR_OPERATIONS_PORT: String(facilitatorOperations),
      GATEHOUSE_FACILITATOR_CHAIN_RPC_URL: chain.url,
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: signer.privateKey,
      GATEHOUSE_FACILITATOR_ASSETS: JSON.stringify([{ ...token, minAmount: Number(price) }]),
      GATEHOUSE_FACILITATOR_PAYEES: payee.address,
      GATEHOUSE_FACILITATOR_LEDGER_PATH: join(placeOf(facilitatorPlace), "ledger.sqlite"),
    }),
  );
  const shop = starting.use(
    await start("resource-server", shopPlace, {
      GATEHOUSE_RESOURCE_SERVER_LISTEN_PORT: String(port),
      GATEHOUSE_RESOURCE_SERVER_OPERATIONS_PORT: String(operations),
      GATEHOUSE_RESOURCE_SERVER_ROUTES_PATH: join(placeOf(shopPlace), "routes.json5"),
      GATEHOUSE_RESOURCE_SERVER_PAY_TO: payee.address,
      GATEHOUSE_RESOURCE_SERVER_TOKEN_ADDRESS: chain.token,
      GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL: `http://127.0.0.1:${facilitatorPort}`,
      GATEHOUSE_RESOURCE_SERVER_LEDGER_PATH: join(placeOf(shopPlace), "ledger.sqlite"),
      GATEHOUSE_RESOURCE_SERVER_LEDGER_RESPONSE_BYTES: String(responseBytes),
      // At the default interval, buyers of long responses would exceed such a small limit between two checks.
      GATEHOUSE_RESOURCE_SERVER_PAYMENT_RESUME_INTERVAL_MS: "200",
    }),
  );
  const readyUrls = [facilitatorOperations, operations].map((at) => `http://127.0.0.1:${at}/readyz`);
  await until("the market is ready", startWithinMs, async () =>
    (await Promise.all(readyUrls.map((url) => fetch(url)))).every(({ ok }) => ok),
  );
  const processes = [facilitator, shop];
  const client = createPublicClient({ transport: http(chain.url) });
  const paidBefore = await chain.balanceOf(payee.address);
  const sentBefore = await client.getTransactionCount({ address: signer.address });
  const resources = starting.move();
  return {
    target: { host: "127.0.0.1", port, market: { facilitatorPort, chainUrl: chain.url, token: chain.token } },
    memory: async () => {
      const read = await Promise.all(processes.map(({ memory }) => memory()));
      return {
        nowMiB: Math.max(...read.map(({ nowMiB }) => nowMiB)),
        peakMiB: Math.max(...read.map(({ peakMiB }) => peakMiB)),
      };
    },
    ends: async () => (await Promise.all(processes.map(({ ends }) => ends()))).reduce((sum, count) => sum + count, 0),
    unready: async () => {
      const responses = await Promise.all(readyUrls.map((url) => fetch(url, { signal: AbortSignal.timeout(5_000) })));
      const unreadyResponse = responses.find(({ ok }) => !ok);
      return unreadyResponse === undefined
        ? undefined
        : `${unreadyResponse.url}: ${unreadyResponse.status} ${(await unreadyResponse.text()).slice(0, 300)}`;
    },
    counts: async () => ({
      transactions: (await client.getTransactionCount({ address: signer.address })) - sentBefore,
      paid: Number(((await chain.balanceOf(payee.address)) - paidBefore) / price),
    }),
    ledgerBytes: async () => {
      const files = places.flatMap((place) => ["", "-wal"].map((end) => join(place, `ledger.sqlite${end}`)));
      const sizes = await Promise.all(
        files.map((path) =>
          stat(path).then(
            ({ size }) => size,
            () => 0,
          ),
        ),
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    forged: upstream.forged,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function formatRoutes(upstream: string): string {
  const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
  return JSON.stringify({
    "GET /data": { accepts, upstream: `${upstream}/data` },
    "GET /long": { accepts, upstream: `${upstream}/long` },
    "POST /notes": { accepts, upstream: `${upstream}/notes` },
  });
}

async function startUpstream() {
  let forged = 0;
  const long = Buffer.alloc(longBytes, "x");
  const server = createServer((request, response) => {
    if (JSON.stringify(request.headers).includes(forgedAddress)) forged += 1;
    request.resume();
    response.end(request.url === "/long" ? long : '{"sold":true}');
  });
  const local = await listenLocally(server);
  return {
    ...local,
    forged: () => forged,
  };
}
