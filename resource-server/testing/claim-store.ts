import { pino } from "pino";
import type { Logger } from "#daemon/log/log.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { createChannelLedger, type ChannelLedger } from "../claims/channel-ledger.ts";
import { createClaimLedger, type ClaimLedger } from "../claims/claim-ledger.ts";
import { createSoleClaimOwner, joinClaimOwners } from "../claims/claim-owner.ts";
import { sqliteClaimMigrations } from "../claims/claim-schema.ts";

const silentLog = pino({ level: "silent" });

/** Opens a ledger's SQLite file, or one in memory. */
function openStore(path: string, isShared = false): SqlStore {
  // Don't wait: a file locked by another ledger stays locked for the whole test.
  const location = { path, rival: "the other test", setting: "ledger.path", waitMs: 200, isShared };
  return openSqliteStore({ ...location, migrations: sqliteClaimMigrations });
}

/** Opens a ledger in a SQLite file, or in memory. Disposal closes the file. */
export async function openTestLedger(
  path = ":memory:",
  clock: () => number = Date.now,
  responseBytes = 1e9,
): Promise<AsyncDisposable & ClaimLedger> {
  const store = openStore(path);
  const owner = await createSoleClaimOwner({ store });
  const ledger = createClaimLedger({ responseBytes }, { store, owner, clock });
  return { ...ledger, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** Joins a ledger as one of several processes that share its store. Disposing of it releases its claims and closes the store. */
export async function joinTestLedger(
  location: string | Promise<SqlStore>,
  clock: () => number = Date.now,
): Promise<AsyncDisposable & ClaimLedger> {
  await using resources = new AsyncDisposableStack();
  const store = resources.use(typeof location === "string" ? openStore(location, true) : await location);
  const { id } = resources.use(await joinClaimOwners({ store, log: silentLog }));
  const ownedResources = resources.move();
  return {
    ...createClaimLedger({ responseBytes: 1e9 }, { store, owner: { id, graceMs: () => 0 }, clock }),
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}

/** Opens the channels of a ledger, in memory unless there is a store. */
export function openTestChannels(
  clock: () => number = Date.now,
  { log = silentLog, store = openStore(":memory:") }: Readonly<{ log?: Logger; store?: SqlStore }> = {},
): AsyncDisposable & ChannelLedger {
  return { ...createChannelLedger({ store, clock, log }), [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}
