import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLedger } from "#facilitator/settlement/ledger/ledger.ts";
import { postgresLedgerMigrations } from "#facilitator/settlement/ledger/schema.ts";
import { createRequests } from "#facilitator/settlement/leader/requests.ts";
import { createSettlerLease, termLifeMs } from "#facilitator/settlement/leader/settler-lease.ts";
import { attempt, settlement, testLedger } from "#facilitator/testing/ledger-contract.ts";
import { postgresMissing, startPostgres, type PostgresServer } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { openTestStore } from "./postgres-place.ts";

const missing = postgresMissing();
const chain = { chainId: 1_672 };
const clock = () => 1_000;
const unguarded = async () => undefined;

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

    testLedger(open);

    test("one replica at a time has the right to settle, and none keeps it after its term", async () => {
      await using store = await open();
      const [first, second] = [createSettlerLease(chain, { store }), createSettlerLease(chain, { store })];
      expect(await first.acquire()).toBe(1);
      expect(await second.acquire()).toBeUndefined();
      expect(await first.renew(1)).toBe(true);
      await first.release(1);
      expect(await second.acquire()).toBe(2);
      expect(await first.renew(1)).toBe(false);
      const late = createLedger(chain, { store, clock, guard: first.guard(1) });
      await expect(late.begin([{ settlement, attempt }])).rejects.toThrow("another replica settles now");
      const current = createLedger(chain, { store, clock, guard: second.guard(2) });
      await current.begin([{ settlement, attempt }]);
      // The second one falls silent, as after kill -9: the first takes over when the term's life is over.
      expect(await until("the term is over", termLifeMs + 5_000, first.acquire)).toBe(3);
      await expect(current.withdraw(attempt)).rejects.toThrow("another replica settles now");
      expect(await current.unfinished()).toHaveLength(1);
    });

    test("a request is on record once, is found by who settles, and tells every replica its outcome", async () => {
      await using store = await open();
      const requests = createRequests(chain, { store, clock, guard: unguarded });
      const rival = { ...settlement, id: `0x${"2e".repeat(32)}` } as const;
      const asked = await Promise.all([requests.ask(settlement), requests.ask(settlement), requests.ask(settlement)]);
      expect(asked).toEqual([true, true, true]);
      expect(await requests.ask(rival), "the authorization nonce is taken").toBe(false);
      expect(await requests.waiting(10)).toEqual([settlement]);
      expect(await requests.states([settlement.id, rival.id])).toEqual(
        new Map([[settlement.id, { state: "begun", transaction: undefined, owner: "the first" }]]),
      );
      const ledger = createLedger(chain, { store, clock, guard: unguarded });
      await ledger.begin([{ settlement, attempt }]);
      expect(await requests.waiting(10)).toEqual([]);
      expect((await requests.states([settlement.id])).get(settlement.id)).toEqual({
        state: "begun",
        transaction: attempt.hash,
        owner: "the first",
      });
      await ledger.finish(new Map([[settlement.id, { state: "settled", transaction: attempt.hash }]]));
      expect((await requests.states([settlement.id])).get(settlement.id)).toMatchObject({ state: "settled" });
    });

    test("a declined request is gone with its reason, and one that was sent can't be declined", async () => {
      await using store = await open();
      const requests = createRequests(chain, { store, clock, guard: unguarded });
      await requests.ask(settlement);
      await requests.decline(settlement.id, "the chain asks too much");
      expect(await requests.states([settlement.id])).toEqual(new Map());
      expect(await requests.unsentReason(settlement.id)).toBe("the chain asks too much");
      expect(await requests.ask(settlement), "it can be asked for again").toBe(true);
      await createLedger(chain, { store, clock, guard: unguarded }).begin([{ settlement, attempt }]);
      await requests.decline(settlement.id, "too late");
      expect((await requests.states([settlement.id])).size).toBe(1);
    });
  },
);
