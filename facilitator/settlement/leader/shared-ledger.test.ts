import { expect, test } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { sampleAttempt, sampleMs, sampleSettlement } from "../../testing/sample-settlement.ts";
import { sqliteLedgerMigrations } from "../ledger/schema.ts";
import { createRequests, createSharedLedger } from "./shared-ledger.ts";

test("adds a request if the conflicting one is declined between two statements", async () => {
  const location = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  await using store = openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
  const [options, clock, guard] = [{ chainId: 1_672 }, () => sampleMs, async () => undefined];
  const { add } = createRequests(options, { store, clock, guard });
  expect(await add(sampleSettlement)).toBe(true);
  const otherSettlement = { ...sampleSettlement, id: `0x${"2e".repeat(32)}` } as const;
  expect(await add(otherSettlement), "the first one is there").toBe(false);
  let declines = 1;
  const decliningRequests = createRequests(options, {
    clock,
    guard,
    store: {
      ...store,
      change: async (text, values) => {
        const changeCount = await store.change(text, values);
        if (changeCount === 0 && declines-- > 0) await store.change("DELETE FROM settlement");
        return changeCount;
      },
    },
  });
  expect(await decliningRequests.add(sampleSettlement)).toBe(true);
  expect(await store.rows("SELECT id FROM settlement")).toEqual([{ id: sampleSettlement.id }]);
});

test("keeps a request whose transaction was withdrawn, so that another account can send it", async () => {
  const location = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  await using store = openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
  const { requests, lease, inTerm } = createSharedLedger({ chainId: 1_672 }, { store, clock: () => sampleMs });
  const term = inTerm((await lease.acquire()) ?? 0);
  await requests.add(sampleSettlement);
  await term.ledger.begin([{ settlement: sampleSettlement, attempt: sampleAttempt }]);
  await term.ledger.withdraw(sampleAttempt);
  expect((await requests.states([sampleSettlement.id])).get(sampleSettlement.id)).toMatchObject({ state: "begun" });
  await term.requests.decline(sampleSettlement.id, "no account can pay for gas");
  expect(await requests.states([sampleSettlement.id])).toEqual(new Map());
});
