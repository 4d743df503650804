import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { createClaimLedger, type ClaimLedger } from "../claims/claim-ledger.ts";
import { createSoleClaimOwner } from "../claims/claim-owner.ts";
import { sqliteClaimMigrations } from "../claims/claim-schema.ts";

/** A ledger in a SQLite file, or in memory. Disposing of it closes the file. */
export async function openTestLedger(
  path = ":memory:",
  clock: () => number = Date.now,
): Promise<AsyncDisposable & ClaimLedger> {
  const place = { path, rival: "the other test", setting: "ledger.path" };
  const store = openSqliteStore({ ...place, migrations: sqliteClaimMigrations });
  const owner = await createSoleClaimOwner({ store });
  return { ...createClaimLedger({ store, owner, clock }), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}
