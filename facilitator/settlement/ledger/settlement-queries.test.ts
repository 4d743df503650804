import { expect, test } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { readSettledAfter } from "./settlement-queries.ts";
import { sqliteLedgerMigrations } from "./schema.ts";

test("reads finished settlements by their index, without a table scan", async () => {
  const location = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  await using store = openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
  const plans: string[] = [];
  const rows: typeof store.rows = async (text, parameters) => {
    plans.push(...(await store.rows(`EXPLAIN QUERY PLAN ${text}`, parameters)).map((row) => String(row["detail"])));
    return store.rows(text, parameters);
  };
  const startLocation = { finishedAtMs: 0, id: "0x01" };
  await readSettledAfter({ after: startLocation, beforeMs: 60_000, max: 100 }, { chainId: 1_672 }, { store: { rows } });
  expect(plans[0]).toBe("SEARCH settlement USING INDEX settlement_finished (finished_at_ms>? AND finished_at_ms<?)");
  expect(plans.filter((step) => step.startsWith("SCAN"))).toEqual([]);
});
