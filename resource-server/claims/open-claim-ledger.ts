import { existsSync } from "node:fs";
import { createRetentionClock, type Clock } from "#daemon/clock.ts";
import { createLog, type Logger } from "#daemon/log/log.ts";
import type { ReadinessCheck } from "#daemon/http/readiness.ts";
import { StartupError } from "#daemon/process/startup-error.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { rejectBothLedgers } from "#daemon/sql/postgres-settings.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { watchStore } from "#daemon/sql/store-watch.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { createChannelLedger, type ChannelLedger } from "./channel-ledger.ts";
import { createClaimLedger, type ClaimLedger } from "./claim-ledger.ts";
import { joinClaimOwners, createSoleClaimOwner } from "./claim-owner.ts";
import { postgresClaimMigrations, sqliteClaimMigrations } from "./claim-schema.ts";
import type { ClaimKey } from "./payment-claim.ts";
import { nameSetting, resourceServerSettings, type ResourceServerSettings } from "../settings.ts";

type LedgerSettings = ResourceServerSettings["ledger"];

/** Ledger opened by this process. Disposal disowns the process's claims and closes the database. */
export type OpenClaimLedger = AsyncDisposable &
  Readonly<{ ledger: ClaimLedger; channels: ChannelLedger; readiness: () => ReadinessCheck }>;

const defaultPath = ".gatehouse/resource-server/claims.sqlite";

/**
 * Opens the configured ledger: the PostgreSQL database of all replicas, or a SQLite file exclusive to this process; during a hot restart,
 * both processes share the file like replicas.
 *
 * @throws {StartupError} when both are configured, or the configured one can't be used.
 */
export async function openClaimLedger(
  { path, url, ...limits }: LedgerSettings,
  { clock, log, isHandedOver }: Readonly<{ clock: Clock; log: Logger; isHandedOver: boolean }>,
): Promise<OpenClaimLedger> {
  if (path !== undefined && url !== undefined)
    throw rejectBothLedgers(nameSetting("ledger", "path"), nameSetting("ledger", "url"));
  await using resources = new AsyncDisposableStack();
  const store = resources.use(
    url === undefined
      ? openFile(path ?? defaultPath, { setting: nameSetting("ledger", "path"), isShared: isHandedOver })
      : await openDatabase({ ...limits, url }, nameSetting("ledger", "url"), log),
  );
  const sharedOwner =
    isHandedOver || url !== undefined ? resources.use(await joinClaimOwners({ store, log })) : undefined;
  const owner = sharedOwner ?? resources.use(await createSoleClaimOwner({ store }));
  const { readiness } = sharedOwner ?? resources.use(watchStore(store, { log }));
  const ownedResources = resources.move();
  return {
    ledger: createClaimLedger(limits, {
      store,
      owner,
      clock: clock.wallMs,
      retentionClock: createRetentionClock(clock),
    }),
    channels: createChannelLedger({ store, clock: clock.wallMs, log }),
    readiness,
    [Symbol.asyncDispose]: () => ownedResources.disposeAsync(),
  };
}

export type ClaimLookup = AsyncDisposable & Readonly<{ find: (key: ClaimKey) => Promise<string> }>;

/** Opens a ledger by its file or URL. @throws {StartupError} when it does not exist, is in use, or can't be used. */
export async function openClaimLookup(location: string): Promise<ClaimLookup> {
  const setting = "--claims";
  const isDatabaseUrl = /^postgres(?:ql)?:/.test(location);
  if (!isDatabaseUrl && !existsSync(location))
    throw new StartupError(`${setting} ${location}: ledger not found; specify the resource server's.`);
  const log = createLog({ service: resourceServerSettings.service, level: "silent" });
  const limits = resourceServerSettings.schema.shape.ledger.parse({});
  const store = isDatabaseUrl
    ? await openDatabase({ ...limits, url: new Secret(location) }, setting, log)
    : openFile(location, {
        setting,
        isShared: true,
        remedy: "stop the resource server, or run it with --hot-restart",
      });
  const text = "SELECT state FROM claims WHERE network = $1 AND asset = $2 AND payer = $3 AND nonce = $4";
  return {
    find: async ({ network, asset, payer, nonce }) =>
      String((await store.rows(text, [network, asset, payer, nonce]))[0]?.["state"] ?? "none"),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function openFile(path: string, options: Readonly<{ setting: string; isShared: boolean; remedy?: string }>): SqlStore {
  const migrations = sqliteClaimMigrations;
  return openSqliteStore({ ...options, path, migrations, rival: "the other resource server", table: "claims" });
}

async function openDatabase(
  options: Omit<LedgerSettings, "url" | "path"> & Readonly<{ url: Secret }>,
  setting: string,
  log: Logger,
): Promise<SqlStore> {
  // Imported lazily, because a start with SQLite doesn't need it.
  const { openPostgresStore } = await import("#daemon/sql/postgres-store.ts");
  const schema = "gatehouse_resource_server";
  return openPostgresStore({ ...options, setting, schema, migrations: postgresClaimMigrations }, { log });
}
