import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { buildSettlingEnvironment } from "../support/payments/shop.ts";
import { askAlone, holdIdle } from "../support/held-idle.ts";
import { startPaymentChain, type PaymentChain } from "../support/payments/payment-chain.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";
import { buildFacilitatorEnvironment, createLedgerFolder } from "../support/facilitator/running-facilitator.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

/** Number of the service's descriptors, and number of idle connections. */
const descriptors = 160;
const idleConnections = 400;
/** Min time, in seconds, for which the connections are held; minutes in `npm run test:long`. */
const seconds = Number(process.env["GATEHOUSE_TEST_DESCRIPTORS_SECONDS"] ?? 1);
/** Min number of rounds, however slow the machine is. */
const rounds = 4;

const resources = new AsyncDisposableStack();
let chain: PaymentChain;
let ledgers: Awaited<ReturnType<typeof createLedgerFolder>>;

beforeAll(async () => {
  chain = resources.use(await startPaymentChain());
  ledgers = resources.use(await createLedgerFolder());
});
afterAll(() => resources.disposeAsync());

type Served = Readonly<{ listener: string; serve: (url: string) => Promise<string> }>;

/** Expects a service to survive idle connections, and to respond to requests and probes at the same time. */
async function outlast(service: ServiceProcess, { listener, serve }: Served): Promise<void> {
  const { [listener]: url = "", [`${listener}-operations`]: operations = "" } = service.urls;
  await until("it is ready", generousMs, async () => (await askAlone(`${operations}/readyz`)).status === 200);
  {
    using _ = holdIdle(url, idleConnections);
    const end = performance.now() + seconds * 1_000;
    for (let round = 0; performance.now() < end || round < rounds; round += 1) {
      expect(await serve(url)).toBe("served");
      expect((await askAlone(`${operations}/readyz`)).status).toBe(200);
      await sleep(250);
    }
    await until("some idle connections are closed", generousMs, async () =>
      new RegExp(`gatehouse_connections_shed_total\\{listener="${listener}"\\} [1-9]`).test(
        (await askAlone(`${operations}/metrics`)).text,
      ),
    );
  }
  expect(await service.end("SIGTERM")).toBe(0);
  expect(service.output()).not.toContain("EMFILE");
}

const isTried = existsSync("/proc/self/fd");
const limits = `with ${descriptors} descriptors and ${idleConnections} idle connections for ${seconds} s`;

test.skipIf(!isTried)(
  `the facilitator verifies and settles payments ${limits}`,
  { timeout: (seconds + 120) * 1_000 },
  async () => {
    const env = buildFacilitatorEnvironment({ rpcUrl: chain.url, token: chain.token, ledgerPath: ledgers.path("few") });
    await using facilitator = await startService("facilitator", env, { descriptors });
    await outlast(facilitator, {
      listener: "facilitator",
      serve: async (url) => {
        const payment = JSON.stringify(await signPayment(chain.token));
        const verifiedResponse = await askAlone(`${url}/verify`, payment);
        const settledResponse = await askAlone(`${url}/settle`, payment);
        const isServed =
          verifiedResponse.text.includes('"isValid":true') && settledResponse.text.includes('"success":true');
        return isServed ? "served" : `${verifiedResponse.text} ${settledResponse.text}`;
      },
    });
  },
);

test.skipIf(!isTried)(
  `the resource server returns its offers ${limits}`,
  { timeout: (seconds + 120) * 1_000 },
  async () => {
    const routesPath = ledgers.path("routes");
    const accepts = [{ scheme: "exact", price: "0.01", network: "eip155:1672" }];
    await writeFile(routesPath, JSON.stringify({ "POST /data": { accepts, upstream: "http://127.0.0.1:9/data" } }));
    const env = buildSettlingEnvironment(chain, {
      routesPath,
      settlementPath: ledgers.path("settlement"),
      claimsPath: ledgers.path("claims"),
    });
    await using shop = await startService("resource-server", env, { descriptors });
    await outlast(shop, {
      listener: "resource-server",
      serve: async (url) => {
        const { status } = await askAlone(`${url}/data`, "{}");
        return status === 402 ? "served" : String(status);
      },
    });
  },
);
