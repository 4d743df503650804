import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSqliteStore } from "#daemon/sql/sqlite-store.ts";
import { encodeInteger, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import type { Receipt } from "../chain/chain.ts";
import { transferTopic } from "../chain/token.ts";
import { sampleMs, sampleSettlement } from "../testing/sample-settlement.ts";
import { sqliteLedgerMigrations } from "./ledger/schema.ts";
import { startLedgerComparison } from "./ledger-comparison.ts";

const chainId = 1_672;
const minuteMs = 60_000;
const { asset, payer, payTo, amount } = sampleSettlement;
const idOf = (number: number): Hex => `0x${number.toString(16).padStart(64, "0")}`;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function receiptOf(transactionHash: Hex): Receipt {
  const topics = [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(payTo)];
  const logs = [{ address: asset, topics, data: `0x${encodeInteger(amount)}` as const }];
  return { status: 1, blockNumber: 1, transactionHash, gasUsed: 65_000n, logs };
}

/** A ledger, a chain that lacks the settlements in `lostTransactions`, and a comparison of the two every minute. */
function comparedLedger(isSettler = true) {
  const store = openSqliteStore({
    path: ":memory:",
    migrations: sqliteLedgerMigrations,
    rival: "the other test",
    setting: "ledger.path",
  });
  const state = { nowMs: sampleMs, isNodeDown: false, headMs: undefined as number | undefined, isSettler };
  const lostTransactions = new Set<Hex>();
  const reports: unknown[] = [];
  const counters = { asked: 0, atOnce: 0, atOnceMost: 0 };
  const chain = {
    head: async () => ({ number: 1, timestamp: Math.floor((state.headMs ?? state.nowMs) / 1_000) }),
    receipt: async (hash: Hex) => {
      counters.asked += 1;
      counters.atOnceMost = Math.max(counters.atOnceMost, (counters.atOnce += 1));
      await Promise.resolve();
      counters.atOnce -= 1;
      if (state.isNodeDown) throw new Error("the node is down");
      return lostTransactions.has(hash) ? undefined : receiptOf(hash);
    },
  };
  const log = pino({ level: "error" }, { write: (line: string) => void reports.push(JSON.parse(line)) });
  const comparison = startLedgerComparison(
    { chainId, compareIntervalMs: minuteMs },
    {
      store,
      chain,
      clock: () => state.nowMs,
      log,
      isSettler: () => state.isSettler,
    },
  );
  let settledCount = 0;
  return {
    state,
    lostTransactions,
    reports,
    counters,
    comparison: comparison.comparison,
    /** Records this many settlements as settled just now; returns the first one's number. */
    settle: async (count: number): Promise<number> => {
      const firstId = settledCount + 1;
      settledCount += count;
      await store.transaction(async (connection) => {
        for (let number = firstId; number <= settledCount; number += 1) {
          await connection.change(
            `INSERT INTO settlement (chain_id, id, asset, payer, pay_to, amount, authorization_nonce, valid_before, call_data,
               begun_at_ms, state, transaction_hash, finished_at_ms)
             VALUES ($1, $2, $3, $4, $5, $6, $2, '0', '0x', 0, 'settled', $2, $7)`,
            [chainId, idOf(number), asset, payer, payTo, String(amount), state.nowMs],
          );
        }
      });
      return firstId;
    },
    /** Advances one minute, and waits for the check at its end. */
    minute: async () => {
      state.nowMs += minuteMs;
      await vi.advanceTimersByTimeAsync(minuteMs);
      // Everything that a check awaits here completes in microtasks.
      await new Promise((resolve) => setImmediate(resolve));
    },
    [Symbol.asyncDispose]: async () => {
      await comparison[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

test("counts a mismatch for an hour, and logs it once", async () => {
  await using ledger = comparedLedger();
  lose(ledger, await ledger.settle(1));
  const counts = [];
  for (let minute = 0; minute < 59; minute += 1) {
    await ledger.settle(110);
    await ledger.minute();
    counts.push(ledger.comparison()?.mismatches);
  }
  expect(new Set(counts)).toEqual(new Set([1]));
  expect(ledger.reports).toHaveLength(1);
  for (let minute = 0; minute < 3; minute += 1) await ledger.minute();
  expect(ledger.comparison()?.mismatches).toBe(0);
});

test("with more settlements than one check's max, compares each once before any twice", async () => {
  await using ledger = comparedLedger();
  const firstSettlement = await ledger.settle(1_200);
  await ledger.minute();
  expect(ledger.counters.asked).toBe(500);
  await ledger.minute();
  await ledger.minute();
  expect(ledger.counters.asked).toBe(1_200);
  lose(ledger, firstSettlement, firstSettlement + 599, firstSettlement + 1_199);
  const counts = [];
  for (let look = 0; look < 3; look += 1) {
    await ledger.minute();
    counts.push(ledger.comparison()?.mismatches);
  }
  expect(counts).toEqual([1, 2, 3]);
});

test("limits the receipts per check, and the stored mismatches", async () => {
  await using ledger = comparedLedger();
  lose(ledger, ...Array.from({ length: 1_300 }, (_, at) => at + 1));
  await ledger.settle(1_300);
  const [requests, counts]: [number[], unknown[]] = [[], []];
  for (let look = 0; look < 3; look += 1) {
    const requestsBefore = ledger.counters.asked;
    await ledger.minute();
    requests.push(ledger.counters.asked - requestsBefore);
    counts.push(ledger.comparison()?.mismatches);
  }
  // A hundred known mismatches, and up to five hundred others.
  expect([requests, counts]).toEqual([
    [500, 600, 400],
    [500, 1_000, 1_000],
  ]);
  expect([ledger.counters.atOnceMost, ledger.reports.length]).toEqual([20, 1_000]);
});

test("reports no count after a failed check, and keeps the last successful check's time", async () => {
  await using ledger = comparedLedger(false);
  lose(ledger, await ledger.settle(1));
  Object.assign(ledger.state, { isNodeDown: true, isSettler: true });
  await ledger.minute();
  expect(ledger.comparison(), "no check has succeeded").toBeUndefined();
  ledger.state.isNodeDown = false;
  await ledger.minute();
  const atMs = ledger.state.nowMs;
  expect(ledger.comparison()).toEqual({ mismatches: 1, atMs });
  ledger.state.isNodeDown = true;
  await ledger.minute();
  expect(ledger.comparison()).toEqual({ mismatches: undefined, atMs });
  ledger.state.isSettler = false;
  await ledger.minute();
  expect(ledger.comparison(), "a replica that does not settle").toBeUndefined();
});

test("reports the node's lag for a settlement newer than its newest block", async () => {
  await using ledger = comparedLedger();
  lose(ledger, await ledger.settle(1));
  ledger.state.headMs = sampleMs - minuteMs;
  await ledger.minute();
  await ledger.minute();
  expect(ledger.comparison()?.mismatches).toBe(1);
  expect(ledger.reports).toEqual([
    expect.objectContaining({ found: "no receipt: the node's newest block is older", transaction: idOf(1) }),
  ]);
});

function lose({ lostTransactions }: Readonly<{ lostTransactions: Set<Hex> }>, ...numbers: readonly number[]): void {
  for (const number of numbers) lostTransactions.add(idOf(number));
}

test("compares the ledger at startup", async () => {
  await using ledger = comparedLedger();
  await expect.poll(ledger.comparison).toEqual({ mismatches: 0, atMs: ledger.state.nowMs });
});
