import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { testSales } from "../../testing/sales-contract.ts";
import { sqliteLedgerMigrations } from "./schema.ts";

testSales(async () => {
  const location = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  return openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
});
