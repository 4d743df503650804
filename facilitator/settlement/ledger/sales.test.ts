import { expect, test } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { createSales, payerIdentifiersMax } from "./sales.ts";
import { sqliteLedgerMigrations } from "./schema.ts";

const payer = `0x${"0A".repeat(20)}` as const;
const dayMs = 86_400_000;

function openSales() {
  const place = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  const store = openSqliteStore({ ...place, migrations: sqliteLedgerMigrations });
  const time = { nowMs: 20_000 * dayMs };
  const sales = createSales({ chainId: 1 }, { store, clock: () => time.nowMs });
  return { time, sales, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

test("gas is added to its seller's day once, however often it is reported, and a new day begins at nothing", async () => {
  await using scene = openSales();
  const { sales, time } = scene;
  for (const id of ["0x1", "0x2"] as const) await sales.add({ id, payer, seller: "alice", identifier: undefined });
  const wei = 2n ** 70n;
  expect(
    await sales.addGas(
      new Map([
        ["0x1", wei],
        ["0x2", 5n],
        ["0x3", 7n],
      ]),
    ),
  ).toEqual(new Map([["alice", wei + 5n]]));
  expect(await sales.addGas(new Map([["0x1", wei]]))).toEqual(new Map());
  expect(await sales.gasToday("alice")).toEqual({ spent: wei + 5n, dearest: wei });
  time.nowMs += dayMs;
  expect(await sales.gasToday("alice")).toEqual({ spent: 0n, dearest: 0n });
  expect(await sales.forget(time.nowMs - 1, 10)).toBe(2);
});

test("a payer has so many identifiers, the newest, and evicts nobody else's", async () => {
  await using scene = openSales();
  const { sales, time } = scene;
  const other = `0x${"0B".repeat(20)}` as const;
  const add = (of: typeof payer, name: string, fingerprint = "a") =>
    sales.add({ id: "0x1", payer: of, seller: undefined, identifier: { id: name, fingerprint } });
  await add(other, "0");
  for (let at = 0; at <= payerIdentifiersMax; at += 1) {
    time.nowMs += 1;
    expect(await add(payer, String(at))).toBe(true);
  }
  const conflicts = (of: typeof payer, id: string) => sales.isConflict(of, { id, fingerprint: "b" });
  expect([await conflicts(payer, "0"), await conflicts(payer, "1"), await conflicts(other, "0")]).toEqual([
    false,
    true,
    true,
  ]);
  expect(await add(payer, "1", "b"), "a conflict is not recorded").toBe(false);
  expect(await add(payer, "1"), "the same is none").toBe(true);
});
