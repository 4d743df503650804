import type { ClientBase } from "pg";
import type { Migrations } from "./sqlite.ts";
import { StartupError } from "../process/startup-error.ts";

type MigrationOptions = Readonly<{ schema: string; migrations: Migrations; setting: string }>;

/** Version 13 was the oldest maintained version at the time of writing. */
const serverVersionMin = 130_000;

/** First key of the advisory lock for Gatehouse's database changes; the second identifies the schema. */
const lockSpace = 1_672_402;

/**
 * Migrates a database schema in one transaction and under an advisory lock, so that replicas that start simultaneously migrate once.
 * Versions only increase: table `schema_version` has a row for each applied migration.
 *
 * @throws {StartupError} when the server is too old or read-only, or the schema was created by a newer program.
 */
export async function migrate(client: ClientBase, { schema, migrations, setting }: MigrationOptions): Promise<void> {
  const server = await client.query<{ version: number; name: string; standby: boolean }>(
    `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
       pg_is_in_recovery() AS standby`,
  );
  const [{ version, name, standby } = { version: 0, name: "unknown", standby: false }] = server.rows;
  if (version < serverVersionMin) {
    throw new StartupError(`${setting}: the server is PostgreSQL ${name}; use version 13 or later.`);
  }
  if (standby) {
    throw new StartupError(`${setting}: the server is a read-only standby; use the primary server.`);
  }
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1, hashtext($2))", [lockSpace, schema]);
    await applyMissing(client, { schema, migrations, setting });
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function applyMissing(client: ClientBase, { schema, migrations, setting }: MigrationOptions): Promise<void> {
  const found = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (found.rowCount === 0) await client.query(`CREATE SCHEMA ${client.escapeIdentifier(schema)}`);
  await client.query(
    `CREATE TABLE IF NOT EXISTS schema_version (
       version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  const last = await client.query<{ version: number }>(
    "SELECT coalesce(max(version), 0) AS version FROM schema_version",
  );
  const done = last.rows[0]?.version ?? 0;
  if (done > migrations.length) {
    throw new StartupError(
      `${setting}: schema ${schema} of the database has version ${done}, but this program supports only up to ${migrations.length}; run a newer version.`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < done) continue;
    await client.query(migration);
    await client.query("INSERT INTO schema_version (version) VALUES ($1)", [index + 1]);
  }
}
