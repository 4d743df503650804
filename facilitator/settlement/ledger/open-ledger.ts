import type { Logger } from "#daemon/log/log.ts";
import { refuseBothLedgers, type PostgresSettings } from "#daemon/sql/postgres-settings.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { postgresLedgerMigrations, sqliteLedgerMigrations } from "./schema.ts";

/** Place of a ledger, and whether the next process of the facilitator opens it while this one still has it. */
export type LedgerPlace = Readonly<{ path?: string | undefined; isHandedOver?: boolean | undefined }> &
  PostgresSettings;

/** A store with the ledger's tables; `isShared` when other processes may have it as well. */
type OpenStore = Readonly<{ store: SqlStore; isShared: boolean }>;

/** Default path of the ledger's file. */
export const defaultLedgerPath = ".gatehouse/facilitator.sqlite";

/**
 * Opens the database that the settings name: PostgreSQL, which replicas share, or a SQLite file, which is kept from every other
 * process: two that settle on their own with one signer would give out the same nonces. Processes that are handed over share it as replicas do.
 *
 * @throws {StartupError} when both are named, or the one that is can't be used.
 */
export async function openLedgerStore(
  { path, url, isHandedOver = false, ...limits }: LedgerPlace,
  { log }: Readonly<{ log: Logger }>,
): Promise<OpenStore> {
  if (path !== undefined && url !== undefined) throw refuseBothLedgers(nameSetting("path"), nameSetting("url"));
  if (url === undefined) {
    const place = { path: path ?? defaultLedgerPath, setting: nameSetting("path"), rival: "the other facilitator" };
    const options = { ...place, migrations: sqliteLedgerMigrations, isShared: isHandedOver };
    return { store: openSqliteStore(options), isShared: isHandedOver };
  }
  // Loaded only when it is used: a start with SQLite does not pay for it.
  const { openPostgresStore } = await import("#daemon/sql/postgres-store.ts");
  const place = { url, setting: nameSetting("url"), schema: "gatehouse_facilitator" };
  const store = await openPostgresStore({ ...limits, ...place, migrations: postgresLedgerMigrations }, { log });
  return { store, isShared: true };
}

function nameSetting(key: "path" | "url"): string {
  return toEnvironmentName("facilitator", ["ledger", key]);
}
