import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { resourceServer } from "#resource-server/main.ts";
import { startPaymentChain, type PaymentChain } from "../support/payments/payment-chain.ts";
import { buyUntilKnown, price } from "../support/payments/replicated-market.ts";
import {
  buildSettlingEnvironment,
  createTemporaryFolder,
  findUrl,
  payee,
  signPaymentFor,
} from "../support/payments/shop.ts";
import { startUpstream, type TestUpstream } from "../support/payments/test-upstream.ts";
import { explainMissingPostgres, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { takeSlice } from "../support/run-size.ts";
import { startInProcess } from "../support/service-in-process.ts";
import { startService, type ServiceProcess } from "../support/service-process.ts";

const missing = explainMissingPostgres();

/**
 * The writes of one sale, from its claim to its delivery; a COMMIT belongs to the transaction of the preceding statement.
 */
const writes = [
  { what: "the claim", statements: ["INSERT INTO claims"], works: 2 },
  { what: "the response", statements: ["UPDATE claims SET state = 'settling'"], works: 2 },
  { what: "the request to settle", statements: ["INSERT INTO settlement"], works: 1 },
  { what: "the settlement's owner", statements: ["UPDATE settlement SET owner"], works: 1 },
  { what: "the journal's transaction", statements: ["INSERT INTO attempt"], works: 1 },
  { what: "the commit of the journal", statements: ["INSERT INTO attempt", "COMMIT"], works: 1 },
  { what: "the outcome", statements: ["UPDATE settlement SET state"], works: 1 },
  { what: "the commit of the outcome", statements: ["UPDATE settlement SET state", "COMMIT"], works: 1 },
  { what: "the claim's settlement", statements: ["UPDATE claims SET state = 'settled'"], works: 1 },
  { what: "the delivery", statements: ["UPDATE claims SET state = 'delivered', payload = NULL, owner"], works: 1 },
];
const points = writes.flatMap((written) => (["before", "after"] as const).map((moment) => ({ ...written, moment })));

/** A killed process's claims and lease expire only after some seconds. */
const knownWithinMs = 4 * generousMs;

/** Returns the URL of a seller's product once it sells. */
async function whenSelling(seller: Pick<ServiceProcess, "urls">): Promise<string> {
  const url = `${findUrl(seller)}/data`;
  await until("it sells", generousMs, async () => (await fetch(url)).status === 402);
  return url;
}

describe.skipIf(missing !== undefined)(
  `a self-settling seller on PostgreSQL${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    const resources = new AsyncDisposableStack();
    let chain: PaymentChain;
    let postgres: PostgresServer;
    let databaseUrl: string;
    let upstream: TestUpstream;
    let env: Readonly<Record<string, string>>;
    beforeAll(async () => {
      chain = resources.use(await startPaymentChain());
      postgres = resources.use(await startPostgres());
      upstream = resources.use(await startUpstream());
      databaseUrl = await postgres.createDatabase();
      const folder = resources.use(await createTemporaryFolder());
      const routesPath = join(folder.path, "routes.json5");
      const accepts = { scheme: "exact", price: "0.01", network: "eip155:1672" };
      await writeFile(routesPath, JSON.stringify({ "GET /data": { accepts, upstream: `${upstream.url}/data` } }));
      env = {
        ...buildSettlingEnvironment(chain, { routesPath, settlementPath: "", claimsPath: "" }),
        GATEHOUSE_RESOURCE_SERVER_LEDGER_URL: databaseUrl,
        GATEHOUSE_RESOURCE_SERVER_PAYMENT_RESUME_INTERVAL_MS: "200",
      };
    });
    afterAll(() => resources.disposeAsync());

    /** Buys from a seller that kills itself at a point. Returns the payment. */
    async function buyCutOff(point: (typeof points)[number]): Promise<string> {
      await using seller = await startService("resource-server", {
        ...env,
        NODE_OPTIONS: `--import ${new URL("kill-at-statement.main.ts", import.meta.url).href}`,
        TEST_KILL_AT_STATEMENT: JSON.stringify(point),
      });
      const url = await whenSelling(seller);
      const header = await signPaymentFor(url);
      process.kill(seller.pid, "SIGUSR2");
      // The signal has been handled once this response arrives.
      await fetch(`${findUrl(seller)}/health`);
      const boughtResponse = fetch(url, { headers: { "PAYMENT-SIGNATURE": header } }).then((response) =>
        response.text(),
      );
      await boughtResponse.catch(() => undefined);
      await until("it has exited itself", generousMs, async () => seller.hasEnded());
      return header;
    }

    test.each(takeSlice(points, 10))(
      "delivers and charges once after kill -9 $moment $what is written",
      async (point) => {
        const balanceBefore = await chain.balanceOf(payee.address);
        upstream.behave("data");
        const header = await buyCutOff(point);
        await using next = await startInProcess(resourceServer, env);
        const url = await whenSelling(next);
        expect(await buyUntilKnown(url, header, knownWithinMs)).toBe("bought");
        expect(await buyUntilKnown(url, header, knownWithinMs), "again").toBe("bought");
        expect((await chain.balanceOf(payee.address)) - balanceBefore).toBe(price);
        expect(upstream.hits()).toBeLessThanOrEqual(point.works);
        for (const [table, open] of [
          ["gatehouse_facilitator.settlement", "state <> 'settled'"],
          ["gatehouse_resource_server.claims", "state <> 'delivered'"],
        ]) {
          const left = `SELECT count(*) AS open FROM ${table} WHERE ${open}`;
          await until(`nothing is open in ${table}`, generousMs, async () => {
            const [row] = await postgres.query(databaseUrl, left);
            return row?.["open"] === "0";
          });
        }
      },
      2 * knownWithinMs,
    );
  },
);
