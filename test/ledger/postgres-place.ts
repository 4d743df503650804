import { createLog } from "#daemon/log/log.ts";
import { openPostgresStore } from "#daemon/sql/postgres-store.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { Migrations } from "#daemon/sql/sqlite.ts";

/** Opens a store in a database of a test's server. */
export function openTestStore(url: string, schema: string, migrations: Migrations): Promise<SqlStore> {
  const limits = { poolSize: 4, connectTimeoutMs: 5_000, statementTimeoutMs: 5_000 };
  const log = createLog({ service: "test", level: "silent" });
  return openPostgresStore({ ...limits, url: new Secret(url), schema, migrations, setting: "LEDGER_URL" }, { log });
}
