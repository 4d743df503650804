import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { sqliteLedgerMigrations } from "./schema.ts";
import { testClockMs, openTestLedger, testLedger } from "../../testing/ledger-contract.ts";
import { testNotes } from "../../testing/notes-contract.ts";
import { ageTerms, testSharedLedger } from "../../testing/shared-ledger-contract.ts";
import { createSharedLedger } from "../leader/shared-ledger.ts";

const folder = mkdtempSync(join(tmpdir(), "gatehouse-ledger-"));
afterAll(() => rmSync(folder, { recursive: true }));

const openLedger = async (name: string) => {
  const location = { path: join(folder, `${name}.sqlite`), rival: "the other test", setting: "ledger.path" };
  return openTestLedger(openSqliteStore({ ...location, migrations: sqliteLedgerMigrations }));
};

describe("settlement ledger in SQLite", () => {
  testLedger(openLedger);
  testNotes(openLedger);
});

describe("settlement ledger in a SQLite file shared by two processes", () => {
  let count = 0;
  testSharedLedger(async () => {
    await using resources = new AsyncDisposableStack();
    count += 1;
    const path = join(folder, `shared-${count}.sqlite`);
    const location = { path, rival: "the other test", setting: "ledger.path", isShared: true };
    const open = () => openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
    const clockwork = resources.use(open());
    const connect = () =>
      createSharedLedger({ chainId: 1_672 }, { store: owned.use(open()), clock: () => testClockMs });
    const owned = resources.move();
    return {
      connect,
      passTime: (ms) => ageTerms(clockwork, ms),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  });
});
