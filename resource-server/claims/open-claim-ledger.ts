import type { Logger } from "#daemon/log/log.ts";
import { toEnvironmentName } from "#daemon/settings/leaf.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { rejectBothLedgers } from "#daemon/sql/postgres-settings.ts";
import { createChannelLedger, type ChannelLedger } from "./channel-ledger.ts";
import { createClaimLedger, type ClaimLedger } from "./claim-ledger.ts";
import { joinClaimOwners, createSoleClaimOwner } from "./claim-owner.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { postgresClaimMigrations, sqliteClaimMigrations } from "./claim-schema.ts";
import { resourceServerSettings, type ResourceServerSettings } from "../settings.ts";

/** Ledger opened by this process. Disposal disowns the process's claims and closes the database. */
export type OpenClaimLedger = AsyncDisposable &
  Readonly<{ ledger: ClaimLedger; channels: ChannelLedger; readiness: () => ReadinessCheck }>;

/** Default path of the ledger's file. */
export const defaultLedgerPath = ".gatehouse/resource-server/claims.sqlite";

/**
 * Opens the configured ledger: the PostgreSQL database of all replicas, or a SQLite file exclusive to this process; during a hot restart,
 * both processes share the file as replicas do. `clock` returns Unix ms.
 *
 * @throws {StartupError} when both are configured, or the configured one can't be used.
 */
export async function openClaimLedger(
  { path, url, ...limits }: ResourceServerSettings["ledger"],
  { clock, log, isHandedOver }: Readonly<{ clock: () => number; log: Logger; isHandedOver: boolean }>,
): Promise<OpenClaimLedger> {
  if (path !== undefined && url !== undefined) throw rejectBothLedgers(nameSetting("path"), nameSetting("url"));
  await using resources = new AsyncDisposableStack();
  const open = async () => {
    if (url === undefined) {
      const place = { path: path ?? defaultLedgerPath, setting: nameSetting("path") };
      const rival = "the other resource server";
      const options = { ...place, migrations: sqliteClaimMigrations, rival, isShared: isHandedOver };
      const store = resources.use(openSqliteStore(options));
      const owner = isHandedOver ? joinClaimOwners({ store, log }) : createSoleClaimOwner({ store });
      return { store, owner: resources.use(await owner) };
    }
    // Lazy import, so that a start with SQLite does not pay for it.
    const { openPostgresStore } = await import("#daemon/sql/postgres-store.ts");
    const place = { url, setting: nameSetting("url"), schema: "gatehouse_resource_server" };
    const store = resources.use(
      await openPostgresStore({ ...limits, ...place, migrations: postgresClaimMigrations }, { log }),
    );
    return { store, owner: resources.use(await joinClaimOwners({ store, log })) };
  };
  const { store, owner } = await open();
  const owned = resources.move();
  return {
    ledger: createClaimLedger({ store, owner, clock }),
    channels: createChannelLedger({ store, clock }),
    readiness: owner.readiness,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function nameSetting(key: "path" | "url"): string {
  return toEnvironmentName(resourceServerSettings.service, ["ledger", key]);
}
