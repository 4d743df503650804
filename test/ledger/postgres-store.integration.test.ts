import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { openPostgresStore } from "#daemon/sql/postgres-store.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import type { Migrations } from "#daemon/sql/sqlite.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { explainMissingPostgres, startPostgres, type PostgresServer } from "../support/postgres.ts";

const missing = explainMissingPostgres();
const log = createLog({ service: "test", level: "silent" });
const table = "CREATE TABLE counter (id integer PRIMARY KEY, value bigint NOT NULL)";

function open(url: string, migrations: Migrations = [table]) {
  const limits = { poolSize: 4, connectTimeoutMs: 2_000, statementTimeoutMs: 3_000 };
  return openPostgresStore(
    { ...limits, url: new Secret(url), schema: "ours", migrations, setting: "LEDGER_URL" },
    { log },
  );
}

describe.skipIf(missing !== undefined)(`PostgreSQL store${missing === undefined ? "" : ` (${missing})`}`, () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
    url = await server.createDatabase();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("migrates once when ten processes start concurrently", async () => {
    const fresh = await server.createDatabase();
    const stores = await Promise.all(Array.from({ length: 10 }, () => open(fresh)));
    expect(await server.query(fresh, "SELECT version FROM ours.schema_version")).toEqual([{ version: 1 }]);
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
    await using later = await open(fresh, [table, "ALTER TABLE counter ADD COLUMN name text"]);
    expect(await later.rows("SELECT id, value, name FROM counter")).toEqual([]);
    await expect(open(fresh)).rejects.toThrow(
      /^LEDGER_URL: schema ours .* has version 2, but this program supports only up to 1; run a newer version\.$/,
    );
  });

  it("rolls back a failed migration", async () => {
    const fresh = await server.createDatabase();
    await expect(open(fresh, [table, "CREATE TABLE counter (id integer)"])).rejects.toThrow("counter");
    await using _store = await open(fresh);
    expect(await server.query(fresh, "SELECT version FROM ours.schema_version")).toEqual([{ version: 1 }]);
  });

  it("reports why it can't connect and what to do in one line, without the password", async () => {
    const [port = 0] = await findFreePorts(1);
    const used = new URL(url).port;
    const encrypted = `${url.replace(/ledger_\d+$/, "template1")}?sslmode=verify-full`;
    const messages = await Promise.all(
      [
        `postgresql://gatehouse:hidden@127.0.0.1:${port}/ledger`,
        url.replace(/ledger_\d+$/, "absent"),
        url.replace(/:[^:@]+@/, ":hidden@"),
        url.replace(/:[^:@]+@/, "@"),
        url.replace(/ledger_\d+$/, "template1"),
        url.replace("127.0.0.1", "nowhere.invalid"),
        encrypted,
        `${encrypted}&sslrootcert=/nowhere/ca.pem`,
      ].map((bad) =>
        open(bad).then(
          () => "opened",
          (error: Error) => error.message,
        ),
      ),
    );
    const at = `PostgreSQL at 127.0.0.1:${used}`;
    const login = "correct the user and password in the URL.";
    const expected: readonly (readonly [where: string, cause: RegExp, remedy: string])[] = [
      [
        `database "ledger" of PostgreSQL at 127.0.0.1:${port}`,
        /ECONNREFUSED/,
        "check that the server is running and reachable from here, or correct host and port in the URL.",
      ],
      [
        `database "absent" of ${at}`,
        /database "absent" does not exist/,
        `run createdb --host=127.0.0.1 --port=${used} --owner=gatehouse absent, or correct the database in the URL.`,
      ],
      [`database "ledger_1" of ${at}`, /password authentication failed for user "gatehouse"/, login],
      [`database "ledger_1" of ${at}`, /client password must be a string/, login],
      [
        `database "template1" of ${at}`,
        /permission denied for database template1/,
        "make user gatehouse the database's owner, or correct user and database in the URL.",
      ],
      [
        `database "ledger_1" of PostgreSQL at nowhere.invalid:${used}`,
        /nowhere\.invalid/,
        "correct the host in the URL.",
      ],
      [
        `database "template1" of ${at}`,
        /does not support SSL/,
        "remove sslmode from the URL, or enable TLS on the server.",
      ],
      [`the database`, /\/nowhere\/ca\.pem/, "correct the certificate files in the URL."],
    ];
    for (const [index, [where, cause, remedy]] of expected.entries()) {
      const message = messages[index] ?? "";
      expect(message).toMatch(cause);
      expect(message.startsWith(`LEDGER_URL: can't use ${where} (`), message).toBe(true);
      expect(message.endsWith(`); ${remedy}`), message).toBe(true);
      expect(message).not.toMatch(/hidden|a password of tests|a%20password|\n/);
    }
  });

  it("sets synchronous_commit even if the role turns it off", async () => {
    const fresh = await server.createDatabase();
    await server.query(fresh, `ALTER ROLE gatehouse SET synchronous_commit = off`);
    await using store = await open(fresh);
    expect(await store.rows("SHOW synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
    await server.query(fresh, `ALTER ROLE gatehouse RESET synchronous_commit`);
  });

  it("retries a transaction after a deadlock", async () => {
    await using store = await open(await server.createDatabase());
    await store.change("INSERT INTO counter VALUES (1, 0), (2, 0)");
    let runs = 0;
    const bothHoldOne = Promise.withResolvers<void>();
    // Each transaction locks the rows in a different order, so that they deadlock until PostgreSQL aborts one.
    const add = (first: number, second: number) =>
      store.transaction(async (connection) => {
        await connection.change("UPDATE counter SET value = value + 1 WHERE id = $1", [first]);
        runs += 1;
        if (runs === 2) bothHoldOne.resolve();
        await bothHoldOne.promise;
        await connection.change("UPDATE counter SET value = value + 1 WHERE id = $1", [second]);
      });
    await Promise.all([add(1, 2), add(2, 1)]);
    expect(await store.rows("SELECT id, value FROM counter ORDER BY id")).toEqual([
      { id: 1, value: 2 },
      { id: 2, value: 2 },
    ]);
    expect(runs).toBeGreaterThan(2);
  });

  it("throws a StoreError for a statement timeout, but not for an invalid statement", async () => {
    await using store = await open(await server.createDatabase());
    await expect(store.rows("SELECT pg_sleep(10)")).rejects.toBeInstanceOf(StoreError);
    await expect(store.rows("SELEC 1")).rejects.toThrow(/syntax error/);
    await store.change("INSERT INTO counter VALUES (1, 0)");
    await expect(store.change("INSERT INTO counter VALUES (1, 0)")).rejects.toThrow(/duplicate key/);
    expect(await store.rows("SELECT value FROM counter")).toEqual([{ value: 0 }]);
  });

  it("throws a StoreError while the server is down, and recovers afterwards", async () => {
    await using store = await open(await server.createDatabase());
    const brokenTransaction = store.transaction(async (connection) => {
      await connection.change("INSERT INTO counter VALUES (1, 0)");
      await server.stop();
      await connection.change("INSERT INTO counter VALUES (2, 0)");
    });
    await expect(brokenTransaction).rejects.toBeInstanceOf(StoreError);
    await expect(store.rows("SELECT 1")).rejects.toBeInstanceOf(StoreError);
    await server.start();
    await until("the store works again", generousMs, async () => (await store.rows("SELECT 1 AS one")).length === 1);
    expect(await store.rows("SELECT * FROM counter")).toEqual([]);
  });
});
