import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { makeTestDirectory } from "#daemon/testing/test-directory.ts";
import { createLog } from "../log/log.ts";
import { generousMs, until } from "../testing/until.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import { watchStore } from "./store-watch.ts";
import { StoreError } from "./store.ts";

/** Short, but long enough for a statement to wait for another one of this process. */
const waitMs = 200;

let folder: string;
beforeEach(async () => {
  folder = await makeTestDirectory();
});

const open = (isShared: boolean) =>
  openSqliteStore({
    path: join(folder, "ledger.sqlite"),
    migrations: ["CREATE TABLE counter (id INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT"],
    rival: "the other test",
    setting: "ledger.path",
    isShared,
    waitMs,
  });

it("is shared if opened as shared: each sees the other's writes", async () => {
  await using old = open(true);
  await using next = open(true);
  await old.change("INSERT INTO counter VALUES (1, $1)", ["a"]);
  await next.transaction(async ({ change }) => void (await change("UPDATE counter SET value = $1", ["b"])));
  expect(await old.rows("SELECT value FROM counter")).toEqual([{ value: "b" }]);
  const text = `SELECT id FROM counter WHERE ${next.isListed("value", "$1")}`;
  expect(await next.rows(text, ["a,b,c"])).toEqual([{ id: 1 }]);
  expect(await next.rows(text, ["a,c"])).toEqual([]);
});

it("is locked for all other processes if opened exclusively", async () => {
  await using _sole = open(false);
  for (const isShared of [true, false]) {
    expect(() => open(isShared)).toThrow(/is in use; stop the other test, or set ledger\.path to another file\./);
  }
});

it("throws a StoreError while another process writes for too long, and recovers afterwards", async () => {
  await using store = open(true);
  const other = new DatabaseSync(join(folder, "ledger.sqlite"));
  other.exec("BEGIN IMMEDIATE");
  const beganMs = performance.now();
  const pendingWrite = store.change("INSERT INTO counter VALUES (1, 'a')");
  await expect(pendingWrite).rejects.toBeInstanceOf(StoreError);
  expect(performance.now() - beganMs).toBeGreaterThan(waitMs / 2);
  expect(await store.rows("SELECT id FROM counter")).toEqual([]);
  other.exec("ROLLBACK");
  other.close();
  expect(await store.change("INSERT INTO counter VALUES (1, 'a')")).toBe(1);
});

it("throws a StoreError for a full disk, and the database's own error for an invalid statement", async () => {
  await using store = open(true);
  await store.rows("PRAGMA max_page_count = 3");
  const pendingWrite = store.change("INSERT INTO counter VALUES (1, $1)", ["x".repeat(100_000)]);
  await expect(pendingWrite).rejects.toThrow(
    /ledger \/.+\/ledger\.sqlite can't be used \(database or disk is full\); check its disk/,
  );
  await expect(store.change("INSERT INTO nowhere VALUES (1)")).rejects.not.toBeInstanceOf(StoreError);
});

it("writes nothing to a file that was moved, replaced or deleted, reports this, and recovers once the file is back", async () => {
  await using store = open(false);
  const [place, otherPath] = [join(folder, "ledger.sqlite"), join(folder, "elsewhere.sqlite")];
  const log = createLog({ service: "test", level: "silent" });
  await using watch = watchStore(store, { log, pause: () => setImmediate() });
  const write = () => store.change("INSERT OR REPLACE INTO counter VALUES (1, 'a')");
  renameSync(place, otherPath);
  await expect(write()).rejects.toThrow(/was moved, replaced or deleted; move it back/);
  await until("the moved file is reported", generousMs, () => watch.readiness().message.includes(place));
  writeFileSync(place, "");
  await expect(write()).rejects.toBeInstanceOf(StoreError);
  renameSync(otherPath, place);
  expect(await write()).toBe(1);
  await until("the ledger responds again", generousMs, () => watch.readiness().ok);
});
