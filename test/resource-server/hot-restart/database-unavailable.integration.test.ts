import { describe, expect, it } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listChildren } from "../../support/list-children.ts";
import { explainMissingPostgres, startPostgres } from "../../support/postgres.ts";
import {
  openShopDependencies,
  superviseFacilitator,
  superviseShopThatSettles,
  type Supervised,
} from "./supervised-market.ts";

const missing = explainMissingPostgres();

describe.skipIf(missing !== undefined)(`settings changed while the database is down${missing ?? ""}`, () => {
  it("leave the old processes serving, and become active once the database is back", { timeout: 180_000 }, async () => {
    await using dependencies = await openShopDependencies();
    await using postgres = await startPostgres();
    const url = await postgres.createDatabase();
    await using facilitator = await superviseFacilitator(dependencies, { GATEHOUSE_FACILITATOR_LEDGER_URL: url });
    await using shop = await superviseShopThatSettles(dependencies, { GATEHOUSE_RESOURCE_SERVER_LEDGER_URL: url });
    const both = await Promise.all([follow(facilitator, "/supported", 200), follow(shop, "/health", 200)]);
    await postgres.stop();
    await Promise.all(both.map(({ expectServedOn }) => expectServedOn()));
    await postgres.start();
    await Promise.all(both.map(({ expectTaken }) => expectTaken()));
  });
});

/** Monitors a service through its responses at a path. */
async function follow(supervised: Supervised, path: string, serving: number) {
  // A draining process would wait for a keep-alive connection.
  const headers = { Connection: "close" };
  const expectServes = async () => expect((await fetch(`${supervised.url}${path}`, { headers })).status).toBe(serving);
  const processes = () => listChildren(supervised.supervisor()?.pid ?? 0);
  await expectServes();
  const [old] = await processes();
  return {
    expectServedOn: async () => {
      await supervised.write({ log: { level: "warn" } });
      const reported = await until("it reports that no new process can start", generousMs, supervised.rejection);
      expect(reported).toMatch(
        /^no process can start, either with the new settings or with the previous ones: .*PostgreSQL at /,
      );
      await expectServes();
      expect(await processes()).toContain(old);
    },
    expectTaken: async () => {
      await until("they are active", generousMs, supervised.isInForce);
      await until("the old process has exited", generousMs, async () => !(await processes()).includes(old ?? 0));
      await expectServes();
    },
  };
}
