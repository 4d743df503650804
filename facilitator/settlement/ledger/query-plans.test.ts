import { expect, test } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlConnection, SqlStore } from "#daemon/sql/store.ts";
import { buildDepositKey } from "#x402/batch-settlement/channel.ts";
import {
  buildChannelConfig,
  sampleAttempt as attempt,
  sampleMs,
  sampleSettlement as settlement,
} from "../../testing/sample-settlement.ts";
import { createRequests } from "../leader/shared-ledger.ts";
import { createOwnership } from "../ownership.ts";
import { createLedger, createRecordChecks, recordForeign } from "./ledger.ts";
import { createRefundStore } from "./refunds.ts";
import { createSaleStore } from "./sales.ts";
import { sqliteLedgerMigrations } from "./schema.ts";
import { findSettled, readSettledAfter, readSettlements } from "./settlement-queries.ts";

/** Wraps a store, and adds each step of SQLite's plan for each statement to `steps`. */
function explain(store: SqlStore, steps: Set<string>): SqlStore {
  const wrap = ({ rows, change }: SqlConnection): SqlConnection => {
    const note = async (...[text, parameters]: Parameters<typeof rows>) => {
      const plan = await rows(`EXPLAIN QUERY PLAN ${text}`, parameters);
      for (const { detail } of plan) steps.add(`${String(detail)} in ${text.replaceAll(/\s+/g, " ")}`);
    };
    return {
      rows: async (...statement) => note(...statement).then(() => rows(...statement)),
      change: async (...statement) => note(...statement).then(() => change(...statement)),
    };
  };
  return {
    ...store,
    ...wrap(store),
    changeUnsynced: wrap({ ...store, change: store.changeUnsynced }).change,
    transaction: (work) => store.transaction((connection) => work(wrap(connection))),
  };
}

/** Runs every statement on one settlement. */
async function useLedger(store: SqlStore): Promise<void> {
  const [{ id, payer, asset, authorizationNonce: nonce }, chain] = [settlement, { chainId: 1_672 }];
  const dependencies = { store, clock: () => sampleMs };
  const ledger = createLedger(chain, dependencies);
  const [ownership, sales] = [createOwnership(chain, dependencies), createSaleStore(chain, dependencies)];
  const [refunds, requests] = [createRefundStore(chain, dependencies), createRequests(chain, dependencies)];
  const records = createRecordChecks({ ...chain, store });
  const identifier = { id: "one", fingerprint: "a" };
  await ownership.recordVerified({ id, payer }, "sample");
  await ownership.wasVerified(id, "sample");
  await sales.isConflict(payer, identifier);
  await sales.add({ id, payer, seller: "alice", identifier });
  await requests.add(settlement);
  await requests.add({ ...settlement, id: "0x2" });
  await requests.waiting(10);
  await ledger.begin([{ settlement, attempt }]);
  await ledger.begin([{ settlement, attempt: { ...attempt, hash: "0xbb" } }]);
  await ledger.withdraw({ ...attempt, hash: "0xbb" });
  await ledger.unfinished();
  await ledger.hasConflict(settlement);
  await ledger.finish(new Map([[id, { state: "settled", transaction: attempt.hash }]]));
  await ledger.progress(id);
  await requests.states([id]);
  await requests.unsentReason(id);
  await requests.decline("0x3", "declined");
  await recordForeign({ ...chain, ...dependencies }, settlement, { state: "settled", transaction: attempt.hash });
  await records.findCall(id);
  await records.hasPaid(settlement);
  await records.hasDeposit(buildDepositKey(buildChannelConfig(settlement)));
  for (const change of [ownership.acquire, ownership.release, ownership.close, ownership.forgetRejected])
    await change(id, "sample");
  await sales.addGas(new Map([[id, 1n]]));
  await sales.dailyGas("alice");
  for (const payment of [id, `eip155:1672|${asset}|${payer}|${nonce}`])
    expect(await findSettled(payment, chain, { store })).toMatchObject({ id });
  const refund = { id, amount: 1n, hash: "0xcc", signer: payer, nonce: 1, rawTransaction: "0x02" } as const;
  await refunds.begin(refund);
  await refunds.findByNonce(refund);
  await refunds.end({ ...refund, state: "sent" }, "refunded");
  await refunds.find(id);
  const startLocation = { finishedAtMs: 0, id: "" };
  await readSettledAfter({ after: startLocation, beforeMs: sampleMs + 1, max: 10 }, chain, { store });
  const all = { fromMs: 0, toMs: sampleMs + 1, seller: "alice" };
  expect((await Array.fromAsync(readSettlements(all, chain, { store }))).flat()).toHaveLength(1);
  await ownership.forgetNotes({ fromMs: 0, beforeMs: sampleMs + 1 }, 10);
  await sales.forget(sampleMs + 1, 10);
  expect(await ledger.prune(sampleMs + 1, 10)).toBe(1);
}

test("no statement reads all settlements of a chain", async () => {
  const location = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  await using store = openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
  const steps = new Set<string>();
  await useLedger(explain(store, steps));
  const table = /^SCAN (?:attempt|identifier|refund|sale|settlement|verification)\b/;
  const chain = /\(chain_id=\?\)/;
  // The index of settlements in flight, of which there are few.
  const inFlight = "INDEX settlement_begun (chain_id=?)";
  const slow = [...steps].filter((step) => (table.test(step) || chain.test(step)) && !step.includes(inFlight));
  expect(steps.size).toBeGreaterThan(50);
  expect(slow).toEqual([]);
});
