import { expect, test } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { sampleMs } from "../../testing/sample-settlement.ts";
import { readSettledAfter } from "./settlement-queries.ts";
import { sqliteLedgerMigrations } from "./schema.ts";

const chainId = 1_672;

function openLedger(): SqlStore {
  return openSqliteStore({
    path: ":memory:",
    migrations: sqliteLedgerMigrations,
    rival: "the other test",
    setting: "ledger.path",
  });
}

const idOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;

/** Writes a row of a finished settlement. */
async function write(store: SqlStore, number: number, finishedAtMs: number, state = "settled", chain = chainId) {
  await store.change(
    `INSERT INTO settlement (chain_id, id, asset, payer, pay_to, amount, authorization_nonce, valid_before, call_data,
       begun_at_ms, state, transaction_hash, finished_at_ms) VALUES ($1, $2, '0xa5', '0x01', '0x02', '7', $2, '0', '0x', 0, $3, $2, $4)`,
    [chain, idOf(number), state, finishedAtMs],
  );
}

test("reads settlements after a position, oldest first, then by id", async () => {
  await using store = openLedger();
  const beforeMs = sampleMs + 2;
  await write(store, 3, sampleMs + 1);
  await write(store, 2, sampleMs);
  await write(store, 1, sampleMs);
  await write(store, 4, sampleMs + 2);
  await write(store, 5, sampleMs, "failed");
  await write(store, 6, sampleMs, "settled", 1);
  const readAfter = (finishedAtMs: number, id: string, max = 10) =>
    readSettledAfter({ after: { finishedAtMs, id }, beforeMs, max }, { chainId }, { store });
  const numbersAfter = async (...place: Parameters<typeof readAfter>) =>
    (await readAfter(...place)).map((one) => Number(one.settlement.id));
  expect(await numbersAfter(sampleMs, "")).toEqual([1, 2, 3]);
  expect(await numbersAfter(sampleMs, "", 2)).toEqual([1, 2]);
  expect(await numbersAfter(sampleMs, idOf(1))).toEqual([2, 3]);
  expect(await numbersAfter(sampleMs + 1, "")).toEqual([3]);
  const [first] = await readAfter(sampleMs, "", 1);
  expect(first).toMatchObject({ transaction: idOf(1), finishedAtMs: sampleMs });
});

test("reads finished settlements by their index, without a table scan", async () => {
  await using store = openLedger();
  const plans: string[] = [];
  const explained: Pick<SqlStore, "rows"> = {
    rows: async (text, parameters) => {
      plans.push(...(await store.rows(`EXPLAIN QUERY PLAN ${text}`, parameters)).map((row) => String(row["detail"])));
      return store.rows(text, parameters);
    },
  };
  const after = { finishedAtMs: sampleMs, id: idOf(1) };
  await readSettledAfter({ after, beforeMs: sampleMs + 60_000, max: 100 }, { chainId }, { store: explained });
  expect(plans[0]).toBe("SEARCH settlement USING INDEX settlement_finished (finished_at_ms>? AND finished_at_ms<?)");
  expect(plans.filter((step) => step.startsWith("SCAN"))).toEqual([]);
});
