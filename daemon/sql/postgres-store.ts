import { Socket } from "node:net";
import { Client, Pool, TypeOverrides, types, type ClientBase, type PoolClient } from "pg";
import { lookupName } from "../http/name-lookup.ts";
import type { Logger } from "../log/log.ts";
import { explainPostgresFailure, formatServer, type DatabaseLocation, type Failure } from "./postgres-failure.ts";
import { migrate } from "./postgres-migration.ts";
import type { PostgresSettings } from "./postgres-settings.ts";
import { StartupError } from "../process/startup-error.ts";
import { startStep } from "../process/start-step.ts";
import { pause, createBackoff } from "../time.ts";
import type { Secret } from "../secrets/secret.ts";
import { type SqlConnection, type SqlRow, type SqlStore, type SqlValue, StoreError } from "./store.ts";
import type { Migrations } from "./sqlite.ts";

/** `postgresSettings` with a required URL, and a description of what the database stores. */
export type PostgresStoreOptions = Omit<PostgresSettings, "url"> &
  Readonly<{
    url: Secret;
    /** Name of the PostgreSQL schema that contains the tables; one per service, so that services can share a database. */
    schema: string;
    migrations: Migrations;
    setting: string;
  }>;

/** Max attempts at a transaction that PostgreSQL asks the client to retry. */
const transactionAttemptsMax = 5;
const transactionBackoff = { initialMs: 20, maxMs: 160 } as const;
/** The client's timeout exceeds the server's by this much, so that the server's own error arrives first. */
const responseMarginMs = 1_000;

/** The driver returns int8 as text; ours are times and counts below 2^53. */
const int8Oid = 20;

/**
 * Opens a PostgreSQL database as a store and migrates its schema. Makes commits wait for the server's disk and a synchronous standby: sets
 * `synchronous_commit` to on if it is off or local, because a payment reported as claimed must survive a server crash.
 *
 * @throws {StartupError} in one line with the remedy, when the server is unreachable or rejects the login, or the database can't be used.
 */
export async function openPostgresStore(
  options: PostgresStoreOptions,
  { log }: Readonly<{ log: Logger }>,
): Promise<SqlStore> {
  const location = locateDatabase(options);
  const pool = new Pool({
    connectionString: options.url.reveal(),
    max: options.poolSize,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + responseMarginMs,
    idle_in_transaction_session_timeout: 2 * options.statementTimeoutMs,
    keepAlive: true,
    stream: createPostgresSocket,
    application_name: `gatehouse ${options.schema}`,
    types: createNumericTypes(),
    onConnect: (client) => prepareSession(client, options.schema),
  });
  // The server may close an idle connection; the next query opens another.
  pool.on("error", (error) => log.debug({ err: error }, "PostgreSQL closed an idle connection"));
  try {
    await startStep(`${formatServer(location)} (${options.setting})`, async () => {
      const client = await pool.connect();
      try {
        await migrate(client, options);
      } finally {
        client.release();
      }
    });
  } catch (error) {
    await pool.end();
    if (error instanceof StartupError) throw error;
    const cause = error instanceof StoreError ? error.cause : error;
    throw new StartupError(`${options.setting}: ${explainPostgresFailure(cause, location)}.`, { cause });
  }
  return createStore(pool, location);
}

/** @throws {StartupError} when a certificate file in the URL can't be read. */
function locateDatabase({ url, setting }: PostgresStoreOptions): DatabaseLocation {
  try {
    return new Client({ connectionString: url.reveal() });
  } catch (cause) {
    const problem = `can't use the database (${(cause as Error).message}); correct the certificate files in the URL`;
    throw new StartupError(`${setting}: ${problem}.`, { cause });
  }
}

function createStore(pool: Pool, location: DatabaseLocation): SqlStore {
  const connection = createConnection(pool, location);
  return {
    ...connection,
    // No separate mode for unsynced writes: a server shares one flush among its connections, and allowing a failure to lose the last writes
    // would need a separate transaction.
    changeUnsynced: connection.change,
    transaction: async (work) => {
      const backoff = createBackoff(transactionBackoff);
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await runTransaction(pool, location, work);
        } catch (error) {
          if (!isSerializationFailure(error) || attempt === transactionAttemptsMax)
            throw toStoreFailure(error, location);
          await pause(backoff.nextMs());
        }
      }
    },
    nowMs: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    lockRows: " FOR SHARE",
    isListed: (expression, parameter) => `${expression} = ANY(string_to_array(${parameter}, ','))`,
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

function createConnection(client: Pool | PoolClient, location: DatabaseLocation): SqlConnection {
  const run = async (text: string, parameters: readonly SqlValue[] = []) => {
    try {
      return await client.query(text, [...parameters]);
    } catch (error) {
      throw isSerializationFailure(error) ? error : toStoreFailure(error, location);
    }
  };
  return {
    rows: async (text, parameters) => (await run(text, parameters)).rows as SqlRow[],
    change: async (text, parameters) => (await run(text, parameters)).rowCount ?? 0,
  };
}

async function runTransaction<T>(
  pool: Pool,
  location: DatabaseLocation,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let failure: unknown;
  // Without a listener, a connection that breaks between two statements would exit the process.
  const note = (error: Error): void => void (failure = error);
  client.on("error", note);
  try {
    await client.query("BEGIN");
    const result = await work(createConnection(client, location));
    await client.query("COMMIT");
    return result;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    client.off("error", note);
    // Closing the connection rolls back; only a connection whose transaction ended cleanly is reused.
    client.release(failure !== undefined);
  }
}

async function prepareSession(client: ClientBase, schema: string): Promise<void> {
  await client.query(
    `SELECT set_config('search_path', $1, false), set_config('synchronous_commit',
       CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
         ELSE current_setting('synchronous_commit') END, false)`,
    [schema],
  );
}

function createNumericTypes(): TypeOverrides {
  const overrides = new TypeOverrides(types);
  overrides.setTypeParser(int8Oid, Number);
  return overrides;
}

/** serialization_failure and deadlock_detected: PostgreSQL asks the client to retry the transaction (PostgreSQL manual, "Serialization Failure Handling"). */
const rerun = new Set(["40001", "40P01"]);

/** SQLSTATE classes of errors in the statement or its values: a retry would not help. */
const permanentCodes = /^(22|23|42)[0-9A-Z]{3}$/;

function isSerializationFailure(error: unknown): boolean {
  return rerun.has((error as Failure).code ?? "");
}

/** Converts an error to the one that a store throws: `StoreError`, unless the statement itself is faulty. */
function toStoreFailure(error: unknown, location: DatabaseLocation): Error {
  if (error instanceof StoreError) return error;
  const { code } = error as Failure;
  if (error instanceof Error && code !== undefined && permanentCodes.test(code)) return error;
  return new StoreError(explainPostgresFailure(error, location), { cause: error });
}

/** Creates a socket for the PostgreSQL driver, which has no lookup option and connects by port and host, or by a socket path. */
function createPostgresSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  return Object.assign(socket, {
    connect: (place: number | string, host = "localhost") =>
      typeof place === "string" ? connect(place) : connect({ port: place, host, lookup: lookupName }),
  });
}
