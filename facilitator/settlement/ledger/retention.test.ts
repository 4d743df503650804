import { expect, test } from "vitest";
import { createLog } from "#daemon/log/log.ts";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { StoreError } from "#daemon/sql/store.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { sampleMs } from "../../testing/sample-settlement.ts";
import { createOwnership, type Ownership } from "../ownership.ts";
import { createLedger } from "./ledger.ts";
import { noteLifeMs, retentionIntervalMs, retentionStep, startRetention } from "./retention.ts";
import { createSaleStore } from "./sales.ts";
import { sqliteLedgerMigrations } from "./schema.ts";

const chainId = 1_672;

/** A ledger with records of unsettled payments, and a retention whose pauses the test ends. */
function openScene(change: Partial<Pick<Ownership, "forgetNotes">> = {}) {
  const location = { path: ":memory:", rival: "the other test", setting: "ledger.path" };
  const store = openSqliteStore({ ...location, migrations: sqliteLedgerMigrations });
  const state = { nowMs: sampleMs, clockErrorMs: 0, stepMs: 0, monotonicMs: 0, lines: [] as string[] };
  const clock = () => state.nowMs;
  const ownership = createOwnership({ chainId }, { store, clock });
  const ledger = createLedger({ chainId }, { store, clock, guard: async () => undefined });
  const waits: { ms: number; end: () => void }[] = [];
  const retention = startRetention(
    { retentionDays: 90 },
    {
      ledger,
      ownership: { ...ownership, ...change },
      sales: createSaleStore({ chainId }, { store, clock }),
      clock,
      monotonicMs: () => (state.monotonicMs += state.stepMs) + state.nowMs - state.clockErrorMs,
      pause: async (ms, signal) => {
        if (signal?.aborted === true) return;
        const { promise, resolve } = Promise.withResolvers<void>();
        waits.push({ ms, end: resolve });
        signal?.addEventListener("abort", () => resolve());
        await promise;
      },
      log: createLog({ service: "test", level: "error" }, { write: (line) => void state.lines.push(line) }),
    },
  );
  return {
    state,
    /** Waits until the retention pauses, and returns the pause's duration. */
    nextWait: async () => {
      await until("it waits", generousMs, async () => waits.length > 0);
      return waits[0]?.ms;
    },
    endWait: () => waits.shift()?.end(),
    verify: async (count: number) => {
      for (let at = 0; at < count; at += 1)
        await ownership.recordVerified({ id: `0x${at}`, payer: `0x${at}` }, `seller at ${state.nowMs}`);
    },
    notes: async () => (await store.rows("SELECT count(*) AS notes FROM verification"))[0]?.["notes"],
    stop: () => retention[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: async () => {
      await retention[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

test("deletes an unsettled payment's verification record after an hour", async () => {
  await using scene = openScene();
  await scene.verify(3);
  expect(await scene.nextWait()).toBe(retentionIntervalMs);
  scene.state.nowMs += noteLifeMs;
  await scene.verify(2);
  scene.endWait();
  expect([await scene.nextWait(), await scene.notes()]).toEqual([retentionIntervalMs, 5]);
  scene.state.nowMs += 1;
  scene.endWait();
  expect([await scene.nextWait(), await scene.notes()]).toEqual([retentionIntervalMs, 2]);
});

test("deletes nothing while the clock is a day ahead for a while", async () => {
  await using scene = openScene();
  await scene.verify(2);
  await scene.nextWait();
  scene.state.nowMs += 86_400_000;
  scene.state.clockErrorMs = 86_400_000;
  scene.endWait();
  expect([await scene.nextWait(), await scene.notes()]).toEqual([retentionIntervalMs, 2]);
});

test("deletes many verification records in steps, and can stop between two steps", async () => {
  await using scene = openScene();
  await scene.nextWait();
  for (let steps = 0; steps < 3; steps += 1) {
    scene.state.nowMs += 1;
    await scene.verify(retentionStep.rowsMax);
  }
  scene.state.nowMs += noteLifeMs + 1;
  scene.endWait();
  expect([await scene.nextWait(), await scene.notes()]).toEqual([retentionStep.pauseMinMs, 2 * retentionStep.rowsMax]);
  scene.endWait();
  expect([await scene.nextWait(), await scene.notes()]).toEqual([retentionStep.pauseMinMs, retentionStep.rowsMax]);
  await scene.stop();
  expect(await scene.notes()).toBe(retentionStep.rowsMax);
});

test.each([
  { stepMs: 40, pauseMs: 360 },
  { stepMs: 4_000, pauseMs: 1_000 },
])("pauses for nine times as long as a step takes, up to a second: $stepMs ms", async ({ stepMs, pauseMs }) => {
  await using scene = openScene();
  await scene.nextWait();
  for (let steps = 0; steps < 2; steps += 1) {
    scene.state.nowMs += 1;
    await scene.verify(retentionStep.rowsMax);
  }
  scene.state.nowMs += noteLifeMs + 1;
  scene.state.stepMs = stepMs;
  scene.endWait();
  expect(await scene.nextWait()).toBe(pauseMs);
});

test("logs a failed deletion, and retries it later", async () => {
  await using scene = openScene({ forgetNotes: () => Promise.reject(new StoreError("the database is away")) });
  expect(await scene.nextWait()).toBe(retentionIntervalMs);
  expect(scene.state.lines).toHaveLength(1);
  scene.endWait();
  expect(await scene.nextWait()).toBe(retentionIntervalMs);
  expect(scene.state.lines[1]).toContain("retrying in ten minutes");
});
