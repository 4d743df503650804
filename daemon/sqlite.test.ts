import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqlite } from "./sqlite.ts";

const first = "CREATE TABLE payment (id TEXT PRIMARY KEY) STRICT";
const second = "ALTER TABLE payment ADD COLUMN state TEXT";

describe("openSqlite", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "gatehouse-sqlite-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("runs each migration once and keeps the rows", () => {
    const path = join(folder, "deep", "ledger.db");
    const before = openSqlite(path, [first]);
    before.exec("INSERT INTO payment VALUES ('a')");
    before.close();
    const after = openSqlite(path, [first, second]);
    expect(
      after
        .prepare("SELECT id, state FROM payment")
        .all()
        .map((row) => ({ ...row })),
    ).toEqual([{ id: "a", state: null }]);
    after.close();
  });

  it("refuses a database that a newer version made", () => {
    const path = join(folder, "ledger.db");
    openSqlite(path, [first, second]).close();
    expect(() => openSqlite(path, [first])).toThrow(
      /has schema version 2, this program knows 1; run the newer version/,
    );
  });
});
