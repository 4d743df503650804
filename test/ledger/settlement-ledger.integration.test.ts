import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe } from "vitest";
import { createSharedLedger } from "#facilitator/settlement/leader/shared-ledger.ts";
import { postgresLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { contractMs, ledgerOver, testLedger } from "#facilitator/testing/ledger-contract.ts";
import { testSharedLedger } from "#facilitator/testing/shared-ledger-contract.ts";
import { postgresMissing, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { openTestStore } from "./postgres-place.ts";

const missing = postgresMissing();

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

    testLedger(async () => ledgerOver(await open()));

    testSharedLedger(async () => {
      const store = await open();
      return {
        connect: () => createSharedLedger({ chainId: 1_672 }, { store, clock: () => contractMs }),
        passTime: (ms) => pause(ms),
        [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
      };
    });
  },
);
