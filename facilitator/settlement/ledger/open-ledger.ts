import type { Logger } from "#daemon/log/log.ts";
import { rejectBothLedgers, type PostgresSettings } from "#daemon/sql/postgres-settings.ts";
import { nameSetting } from "../../setting-name.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { postgresLedgerMigrations, sqliteLedgerMigrations } from "./schema.ts";

export type LedgerLocation = Readonly<{
  path?: string | undefined;
  isHandedOver?: boolean | undefined;
  /** What to do if a SQLite file is locked; see {@link openSqliteStore}. */
  remedy?: string | undefined;
}> &
  PostgresSettings;

export type LedgerStore = Readonly<{ store: SqlStore; isShared: boolean }>;

export const defaultLedgerPath = ".gatehouse/facilitator.sqlite";

/**
 * Opens the configured database: PostgreSQL, which replicas share, or a SQLite file, which is locked against every other process, because
 * two independent settlers with one signer would assign the same nonces. During a hot restart, both processes share the file like replicas.
 *
 * @throws {StartupError} when both are configured, or the configured one can't be used.
 */
export async function openLedgerStore(
  { path, url, isHandedOver = false, remedy, ...limits }: LedgerLocation,
  { log }: Readonly<{ log: Logger }>,
): Promise<LedgerStore> {
  if (path !== undefined && url !== undefined)
    throw rejectBothLedgers(nameSetting("ledger", "path"), nameSetting("ledger", "url"));
  if (url === undefined) {
    const location = {
      path: path ?? defaultLedgerPath,
      setting: nameSetting("ledger", "path"),
      rival: "the other facilitator",
      table: "settlement",
      remedy,
    };
    const options = { ...location, migrations: sqliteLedgerMigrations, isShared: isHandedOver };
    return { store: openSqliteStore(options), isShared: isHandedOver };
  }
  // Imported lazily, because a start with SQLite doesn't need it.
  const { openPostgresStore } = await import("#daemon/sql/postgres-store.ts");
  const location = { url, setting: nameSetting("ledger", "url"), schema: "gatehouse_facilitator" };
  const store = await openPostgresStore({ ...limits, ...location, migrations: postgresLedgerMigrations }, { log });
  return { store, isShared: true };
}
