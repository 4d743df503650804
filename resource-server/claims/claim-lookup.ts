import { existsSync } from "node:fs";
import { createLog } from "#daemon/log/log.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { resourceServerSettings } from "../settings.ts";
import { postgresClaimMigrations, sqliteClaimMigrations } from "./claim-schema.ts";
import type { ClaimKey } from "./payment-claim.ts";

/** Looks up the state of a claim in a resource server's ledger, for a command on the same host. */
export type ClaimLookup = AsyncDisposable & Readonly<{ find: (key: ClaimKey) => Promise<string> }>;

/**
 * Opens a resource server's ledger by the path of its file or the URL of its database.
 *
 * @throws {StartupError} when it does not exist, is in use, or can't be used.
 */
export async function openClaimLookup(place: string): Promise<ClaimLookup> {
  const store = await openStore(place);
  const text = "SELECT state FROM claims WHERE network = $1 AND asset = $2 AND payer = $3 AND nonce = $4";
  return {
    find: async ({ network, asset, payer, nonce }) =>
      String((await store.rows(text, [network, asset, payer, nonce]))[0]?.["state"] ?? "none"),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function openStore(place: string): Promise<SqlStore> {
  const setting = "--claims";
  if (/^postgres(?:ql)?:/.test(place)) {
    const { openPostgresStore } = await import("#daemon/sql/postgres-store.ts");
    const limits = resourceServerSettings.schema.shape.ledger.parse({});
    const options = { ...limits, url: new Secret(place), setting, schema: "gatehouse_resource_server" };
    const log = createLog({ service: resourceServerSettings.service, level: "silent" });
    return openPostgresStore({ ...options, migrations: postgresClaimMigrations }, { log });
  }
  if (!existsSync(place)) throw new StartupError(`--claims ${place}: ledger not found; specify the resource server's.`);
  const rival = "the resource server";
  return openSqliteStore({ path: place, migrations: sqliteClaimMigrations, rival, setting, isShared: true });
}
