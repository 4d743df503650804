import { pino } from "pino";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { createClaimLedger, type ClaimLedger } from "../claims/claim-ledger.ts";
import { createSoleClaimOwner, joinClaimOwners } from "../claims/claim-owner.ts";
import { sqliteClaimMigrations } from "../claims/claim-schema.ts";

/** Time to wait for a file locked by another ledger, which keeps the lock for the duration of a test. */
const waitMs = 200;

/** Opens a ledger in a SQLite file, or in memory. Disposal closes the file. */
export async function openTestLedger(
  path = ":memory:",
  clock: () => number = Date.now,
): Promise<AsyncDisposable & ClaimLedger> {
  const place = { path, rival: "the other test", setting: "ledger.path", waitMs };
  const store = openSqliteStore({ ...place, migrations: sqliteClaimMigrations });
  const owner = await createSoleClaimOwner({ store });
  return { ...createClaimLedger({ store, owner, clock }), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** Opens a ledger in a SQLite file as one of several processes that share it. Disposing of it releases its claims and closes the file. */
export async function joinTestLedger(
  path: string,
  clock: () => number = Date.now,
): Promise<AsyncDisposable & ClaimLedger> {
  await using resources = new AsyncDisposableStack();
  const place = { path, rival: "the other test", setting: "ledger.path", waitMs, isShared: true };
  const store = resources.use(openSqliteStore({ ...place, migrations: sqliteClaimMigrations }));
  const owner = resources.use(await joinClaimOwners({ store, log: pino({ level: "silent" }) }));
  const owned = resources.move();
  return {
    ...createClaimLedger({ store, owner: { id: owner.id, graceMs: () => 0 }, clock }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
