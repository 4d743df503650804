import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresClaimMigrations } from "#resource-server/claims/claim-schema.ts";
import { joinTestLedger } from "#resource-server/testing/claim-store.ts";
import { createClaim, testClaimLedger } from "#resource-server/testing/claim-ledger-contract.ts";
import { testChannelLedger } from "#resource-server/testing/channel-ledger-contract.ts";
import { explainMissingPostgres, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { openTestStore } from "./postgres-place.ts";

const missing = explainMissingPostgres();

/** Opens the store of a ledger in a database. */
const openStore = (url: string) => openTestStore(url, "gatehouse_resource_server", postgresClaimMigrations);

/** A separate process that uses the ledger in a database. */
const join = (url: string, clock?: () => number) => joinTestLedger(openStore(url), clock);

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

    testChannelLedger(async () => openStore(await server.createDatabase()));

    it("lets one of several replicas claim a payment, and rejects the others", async () => {
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

    it("moves an expired replica's claims to another replica", async () => {
      const url = await server.createDatabase();
      await using first = await join(url);
      await using secondPath = await join(url);
      await first.claim(createClaim());
      // Simulates that the first replica was disconnected from the database for too long.
      await server.query(url, "UPDATE gatehouse_resource_server.claim_owner SET expires_at_ms = 0");
      const { key } = createClaim();
      expect(await secondPath.acquire(key)).toMatchObject({ state: "working" });
      await expect(first.settling(key, { status: 200, headers: [], body: new Uint8Array() }, "1")).rejects.toThrow(
        "no longer belongs to this process",
      );
      await secondPath.release(key);
      expect(await first.find(key)).toBeUndefined();
    });
  },
);
