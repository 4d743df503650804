import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startPaymentChain, testAccount } from "../../support/payments/payment-chain.ts";
import { explainMissingPostgres, startPostgres } from "../../support/postgres.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startUpstream } from "../../support/payments/test-upstream.ts";
import { listChildren } from "../../support/list-children.ts";
import { supervise, type Supervised } from "./supervised-market.ts";

const missing = explainMissingPostgres();

/** Starts what the services share: a chain, and a database that can be unavailable. */
async function startPlace() {
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "gatehouse-away-"));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const chain = resources.use(await startPaymentChain());
  const postgres = resources.use(await startPostgres());
  const url = await postgres.createDatabase();
  const owned = resources.move();
  return { folder, chain, postgres, url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

type Place = Awaited<ReturnType<typeof startPlace>>;

const superviseFacilitator = ({ folder, chain, url }: Place) =>
  supervise("facilitator", folder, {
    settings: { chain: { rpcUrl: chain.url }, assets: [{ address: chain.token, name: "USDC", version: "2" }] },
    env: {
      GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: testAccount(0).privateKey,
      GATEHOUSE_FACILITATOR_LEDGER_URL: url,
    },
  });

async function superviseShop({ folder, chain, url }: Place, upstreamUrl: string) {
  const routesPath = join(folder, "routes.json5");
  const accepts = `{ scheme: "exact", price: "0.01", network: "eip155:1672" }`;
  await writeFile(routesPath, `{ "GET /data": { accepts: ${accepts}, upstream: "${upstreamUrl}/data" } }`);
  return supervise("resource-server", folder, {
    settings: {
      routesPath,
      payTo: testAccount(2).address,
      token: { address: chain.token },
      settlement: { rpcUrl: chain.url, ledgerPath: join(folder, "settlement.sqlite") },
    },
    env: {
      GATEHOUSE_RESOURCE_SERVER_SETTLEMENT_PRIVATE_KEY: testAccount(0).privateKey,
      GATEHOUSE_RESOURCE_SERVER_LEDGER_URL: url,
    },
  });
}

describe.skipIf(missing !== undefined)(`settings that change while the database is away${missing ?? ""}`, () => {
  it(
    "have a facilitator and a resource server serve on, and are in force once it is back",
    { timeout: 180_000 },
    async () => {
      await using place = await startPlace();
      await using upstream = await startUpstream();
      await using facilitator = await superviseFacilitator(place);
      await using shop = await superviseShop(place, upstream.url);
      const both = await Promise.all([follow(facilitator, "/supported", 200), follow(shop, "/data", 402)]);
      await place.postgres.stop();
      await Promise.all(both.map(({ expectServedOn }) => expectServedOn()));
      await place.postgres.start();
      await Promise.all(both.map(({ expectTaken }) => expectTaken()));
    },
  );
});

/** Monitors a service meanwhile, through its responses at a path while it serves. */
async function follow(supervised: Supervised, path: string, serving: number) {
  // A process that drains would wait for a kept-alive connection.
  const headers = { Connection: "close" };
  const expectServes = async () => expect((await fetch(`${supervised.url}${path}`, { headers })).status).toBe(serving);
  const processes = () => listChildren(supervised.supervisor()?.pid ?? 0);
  await expectServes();
  const [old] = await processes();
  return {
    expectServedOn: async () => {
      await supervised.write({ log: { level: "warn" } });
      const reported = await until("it reports that none can start", generousMs, supervised.refusal);
      expect(reported).toMatch(
        /^no process can start, either with the new settings or with the previous ones: .*PostgreSQL at /,
      );
      await expectServes();
      expect(await processes()).toContain(old);
    },
    expectTaken: async () => {
      await until("they are in force", generousMs, supervised.isInForce);
      await until("the old process has left", generousMs, async () => !(await processes()).includes(old ?? 0));
      await expectServes();
    },
  };
}
