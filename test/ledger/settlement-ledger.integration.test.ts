import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSharedLedger } from "#facilitator/settlement/leader/shared-ledger.ts";
import { readSettledAfter } from "#facilitator/settlement/ledger/settlement-queries.ts";
import { postgresLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { contractMs, openLedgerOver, testLedger } from "#facilitator/testing/ledger-contract.ts";
import { testNotes } from "#facilitator/testing/notes-contract.ts";
import { testSales } from "#facilitator/testing/sales-contract.ts";
import { ageTerms, testSharedLedger } from "#facilitator/testing/shared-ledger-contract.ts";
import { explainMissingPostgres, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { openTestStore } from "./postgres-place.ts";

const missing = explainMissingPostgres();

describe.skipIf(missing !== undefined)(
  `settlement ledger in PostgreSQL${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.[Symbol.asyncDispose]());
    const open = async () =>
      openTestStore(await server.createDatabase(), "gatehouse_facilitator", postgresLedgerMigrations);

    testLedger(async () => openLedgerOver(await open()));
    testNotes(async () => openLedgerOver(await open()));
    testSales(open);

    it("reads settlements after a position, oldest first", async () => {
      await using store = await open();
      const settlement = `INSERT INTO settlement (chain_id, id, asset, payer, pay_to, amount, authorization_nonce, valid_before,
        call_data, begun_at_ms, state, transaction_hash, finished_at_ms)
        VALUES (1672, $1, '0xa5', '0x01', '0x02', '7', $1, '0', '0x', 0, 'settled', $1, $2)`;
      const afterMsById = { "0x3": 1, "0x2": 0, "0x1": 0, "0x4": 2 };
      for (const [id, afterMs] of Object.entries(afterMsById)) {
        await store.change(settlement, [id, contractMs + afterMs]);
      }
      const range = { after: { finishedAtMs: contractMs, id: "0x1" }, beforeMs: contractMs + 2, max: 10 };
      const rows = await readSettledAfter(range, { chainId: 1_672 }, { store });
      expect(rows.map(({ transaction, finishedAtMs }) => [transaction, finishedAtMs - contractMs])).toEqual([
        ["0x2", 0],
        ["0x3", 1],
      ]);
    });

    testSharedLedger(async () => {
      const store = await open();
      return {
        connect: () => createSharedLedger({ chainId: 1_672 }, { store, clock: () => contractMs }),
        passTime: (ms) => ageTerms(store, ms),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    });
  },
);
