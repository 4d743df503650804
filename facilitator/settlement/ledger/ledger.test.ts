import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { sqliteLedgerMigrations } from "./schema.ts";
import { contractMs, openLedgerOver, testLedger } from "../../testing/ledger-contract.ts";
import { testNotes } from "../../testing/notes-contract.ts";
import { ageTerms, testSharedLedger } from "../../testing/shared-ledger-contract.ts";
import { createSharedLedger } from "../leader/shared-ledger.ts";

const folder = mkdtempSync(join(tmpdir(), "gatehouse-ledger-"));
afterAll(() => rmSync(folder, { recursive: true }));

const openOwn = async (name: string) => {
  const place = { path: join(folder, `${name}.sqlite`), rival: "the other test", setting: "ledger.path" };
  return openLedgerOver(openSqliteStore({ ...place, migrations: sqliteLedgerMigrations }));
};

describe("settlement ledger in SQLite", () => {
  testLedger(openOwn);
  testNotes(openOwn);
});

describe("settlement ledger in a SQLite file shared by two processes", () => {
  let count = 0;
  testSharedLedger(async () => {
    await using resources = new AsyncDisposableStack();
    count += 1;
    const path = join(folder, `shared-${count}.sqlite`);
    const place = { path, rival: "the other test", setting: "ledger.path", isShared: true };
    const open = () => openSqliteStore({ ...place, migrations: sqliteLedgerMigrations });
    const clockwork = resources.use(open());
    const connect = () => createSharedLedger({ chainId: 1_672 }, { store: owned.use(open()), clock: () => contractMs });
    const owned = resources.move();
    return { connect, passTime: (ms) => ageTerms(clockwork, ms), [Symbol.asyncDispose]: () => owned.disposeAsync() };
  });
});
