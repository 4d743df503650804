import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { sqliteLedgerMigrations } from "./schema.ts";
import { openLedgerOver, testLedger } from "../../testing/ledger-contract.ts";

const folder = mkdtempSync(join(tmpdir(), "gatehouse-ledger-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("settlement ledger in SQLite", () => {
  testLedger(async (name) => {
    const place = { path: join(folder, `${name}.sqlite`), rival: "the other test", setting: "ledger.path" };
    return openLedgerOver(openSqliteStore({ ...place, migrations: sqliteLedgerMigrations }));
  });
});
