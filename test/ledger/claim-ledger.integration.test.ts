import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { createClaimLedger, type ClaimLedger } from "#resource-server/claims/claim-ledger.ts";
import { joinClaimOwners } from "#resource-server/claims/claim-owner.ts";
import { postgresClaimMigrations } from "#resource-server/claims/claim-schema.ts";
import { createClaim, testClaimLedger } from "#resource-server/testing/claim-ledger-contract.ts";
import { testChannelLedger } from "#resource-server/testing/channel-ledger-contract.ts";
import { explainMissingPostgres, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { openTestStore } from "./postgres-place.ts";

const missing = explainMissingPostgres();
const log = createLog({ service: "test", level: "silent" });

/** A separate process on the ledger in a database. */
async function join(url: string, clock: () => number = Date.now): Promise<AsyncDisposable & ClaimLedger> {
  await using resources = new AsyncDisposableStack();
  const store = resources.use(await openTestStore(url, "gatehouse_resource_server", postgresClaimMigrations));
  const owner = resources.use(await joinClaimOwners({ store, log }));
  const owned = resources.move();
  return {
    ...createClaimLedger({ store, owner: { id: owner.id, graceMs: () => 0 }, clock }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

describe.skipIf(missing !== undefined)(
  `claim ledger in PostgreSQL${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.[Symbol.asyncDispose]());

    testClaimLedger(async () => {
      const url = await server.createDatabase();
      return { open: (clock) => join(url, clock) };
    });

    testChannelLedger(async () =>
      openTestStore(await server.createDatabase(), "gatehouse_resource_server", postgresClaimMigrations),
    );

    it("lets one of many replicas claim a payment, and keeps the others from what it works on", async () => {
      const url = await server.createDatabase();
      const replicas = await Promise.all(Array.from({ length: 4 }, () => join(url)));
      const claims = await Promise.all(
        replicas.flatMap((replica) => [replica.claim(createClaim()), replica.claim(createClaim())]),
      );
      expect(claims.filter(Boolean)).toHaveLength(1);
      const owner = Math.floor(claims.indexOf(true) / 2);
      const { key } = createClaim();
      for (const [index, replica] of replicas.entries()) {
        if (index === owner) continue;
        expect(await replica.acquire(key)).toBeUndefined();
        expect(await replica.releaseAbandoned()).toBe(0);
        await expect(replica.release(key)).rejects.toThrow("no longer belongs to this process");
      }
      expect(await replicas[owner]?.owned(10)).toEqual([{ key, isWorking: true }]);
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    });

    it("gives what a replica owned to another one when its time is over", async () => {
      const url = await server.createDatabase();
      await using first = await join(url);
      await using second = await join(url);
      await first.claim(createClaim());
      // As if the first had been disconnected from the database for too long.
      await server.query(url, "UPDATE gatehouse_resource_server.claim_owner SET expires_at_ms = 0");
      const { key } = createClaim();
      expect(await second.acquire(key)).toMatchObject({ state: "working" });
      await expect(first.settling(key, { status: 200, headers: [], body: new Uint8Array() }, "1")).rejects.toThrow(
        "no longer belongs to this process",
      );
      await second.release(key);
      expect(await first.find(key)).toBeUndefined();
    });
  },
);
