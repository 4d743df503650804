import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { openSqlite } from "./sqlite.ts";
import { StartupError } from "../process/startup-error.ts";

const first = "CREATE TABLE payment (id TEXT PRIMARY KEY) STRICT";
const secondMigration = "ALTER TABLE payment ADD COLUMN state TEXT";

describe("openSqlite", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await makeTestDirectory();
  });

  it("runs each migration once and keeps the rows", () => {
    const path = join(folder, "deep", "ledger.db");
    const firstDatabase = openSqlite(path, [first]);
    firstDatabase.exec("INSERT INTO payment VALUES ('a')");
    firstDatabase.close();
    const after = openSqlite(path, [first, secondMigration]);
    expect(
      after
        .prepare("SELECT id, state FROM payment")
        .all()
        .map((row) => ({ ...row })),
    ).toEqual([{ id: "a", state: null }]);
    after.close();
  });

  it("makes the file and its companions private to their owner, even an existing one", () => {
    const path = join(folder, "ledger.db");
    writeFileSync(path, "", { mode: 0o644 });
    const database = openSqlite(path, [first]);
    database.exec("INSERT INTO payment VALUES ('a')");
    const modes = readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
    database.close();
    expect(Object.fromEntries(modes)).toEqual({ "ledger.db": "600", "ledger.db-shm": "600", "ledger.db-wal": "600" });
  });

  it("reports a damaged file, or one that is not a database, in one line with a remedy", () => {
    const path = join(folder, "ledger.db");
    writeFileSync(path, "these are not the bytes of a database, however long the text is".repeat(100));
    const rejection = () => openSqlite(path, [first], { setting: "GATEHOUSE_TILL_LEDGER_PATH" });
    expect(rejection).toThrow(StartupError);
    expect(rejection).toThrow(
      `${path} is damaged or not a SQLite database (file is not a database); restore a backup of it and of the files next to it, or set GATEHOUSE_TILL_LEDGER_PATH to another path.`,
    );
    rmSync(path);
    const whole = openSqlite(path, [first]);
    whole.exec(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO payment SELECT hex(randomblob(400)) FROM n",
    );
    whole.close();
    const bytes = readFileSync(path);
    bytes.fill(0xff, 8_192, 12_288);
    writeFileSync(path, bytes);
    expect(rejection).toThrow(`${path} is damaged or not a SQLite database (`);
  });

  it("reports in one line that a folder or file can't be written", () => {
    writeFileSync(join(folder, "file"), "");
    const inFile = join(folder, "file", "ledger.db");
    expect(() => openSqlite(inFile, [first], { setting: "GATEHOUSE_TILL_LEDGER_PATH" })).toThrow(
      /ledger\.db can't be opened for writing \(E\w+\); grant user \d+ write access to .*, or set GATEHOUSE_TILL_LEDGER_PATH to another path\.$/,
    );
    const directory = join(folder, "ledger.db");
    mkdirSync(directory);
    expect(() => openSqlite(directory, [first])).toThrow(
      /ledger\.db is a directory, not a database; change its path\.$/,
    );
  });

  it("rejects and does not migrate a database of another service", () => {
    const path = join(folder, "ledger.db");
    openSqlite(path, ["CREATE TABLE other (id TEXT)"], { table: "other" }).close();
    const reopen = (table: string) =>
      openSqlite(path, [first, secondMigration], { table, setting: "GATEHOUSE_TILL_LEDGER_PATH" });
    expect(() => reopen("payment")).toThrow(
      /ledger\.db belongs to another service: it has no table payment; set GATEHOUSE_TILL_LEDGER_PATH to another path\.$/,
    );
    openSqlite(path, ["CREATE TABLE other (id TEXT)"], { table: "other" }).close();
  });

  it.each([
    ["emptied", "is empty", (path: string) => writeFileSync(path, "")],
    ["deleted without its log", "is missing next to its log", (path: string) => renameSync(path, `${path}-wal`)],
  ])("rejects a ledger that was %s", (_, problem, lose) => {
    const path = join(folder, "ledger.db");
    openSqlite(path, [first], { table: "payment" }).close();
    lose(path);
    const names = readdirSync(folder);
    expect(() => openSqlite(path, [first], { table: "payment", setting: "GATEHOUSE_TILL_LEDGER_PATH" })).toThrow(
      `${path} ${problem}, so its records are lost: restore a backup of it and of the files next to it, or set GATEHOUSE_TILL_LEDGER_PATH to another path. If it never held any: rm -f ${path} ${path}-wal`,
    );
    expect(readdirSync(folder)).toEqual(names);
  });

  it("rejects a database from a newer version", () => {
    const path = join(folder, "ledger.db");
    openSqlite(path, [first, secondMigration]).close();
    expect(() => openSqlite(path, [first])).toThrow(
      /has schema version 2, but this program supports only up to 1; run a newer version/,
    );
  });
});
