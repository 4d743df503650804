import { afterAll, beforeAll, describe } from "vitest";
import { createSharedLedger } from "#facilitator/settlement/leader/shared-ledger.ts";
import { postgresLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { testClockMs, openTestLedger, testLedger } from "#facilitator/testing/ledger-contract.ts";
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
    let url: string;
    beforeAll(async () => {
      server = await startPostgres();
      url = await server.createDatabase();
    });
    afterAll(() => server?.[Symbol.asyncDispose]());
    const open = async () => {
      const store = await openTestStore(url, "gatehouse_facilitator", postgresLedgerMigrations);
      await store.change(
        "TRUNCATE settlement, attempt, refund, unsent, settler, verification, identifier, sale, seller_day",
      );
      return store;
    };

    testLedger(async () => openTestLedger(await open()));
    testNotes(async () => openTestLedger(await open()));
    testSales(open);

    testSharedLedger(async () => {
      const store = await open();
      return {
        connect: () => createSharedLedger({ chainId: 1_672 }, { store, clock: () => testClockMs }),
        passTime: (ms) => ageTerms(store, ms),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    });
  },
);
