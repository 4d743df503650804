import { DatabaseSync } from "node:sqlite";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createSqliteStore } from "#daemon/sql/sqlite-store.ts";
import type { SqlStore } from "#daemon/sql/store.ts";
import { sampleAttempt, sampleMs, sampleSettlement } from "../../testing/sample-settlement.ts";
import { reason, type Rejection } from "#x402/reason.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";
import type { Caller } from "../../callers/caller.ts";
import type { SettlementContext } from "../context.ts";
import { sqliteLedgerMigrations } from "../ledger/schema.ts";
import { toSettlement } from "../settlement.ts";
import { createSharedLedger } from "./shared-ledger.ts";
import { createOutcomeWatch, createSharedSettler } from "./shared-settler.ts";

const log = pino({ level: "silent" });
const pass = async () => undefined;

function createPayment(index: number): SignedPayment {
  const { asset, contract, payer, payTo, amount } = sampleSettlement;
  const authorization = { validAfter: 0n, validBefore: 4_000_000_000n, nonce: `0x${`${index}`.repeat(64)}` as const };
  const signedPayment = { id: `0x${`${index}d`.repeat(32)}`, callData: `0x${`${index}`.repeat(8)}` } as const;
  return { ...signedPayment, asset, contract, payer, payTo, amount, authorization };
}

const payment = createPayment(1);
const createSale = (owner: string): Caller => ({ kind: "sale", owner });

function openStore(beforeStatement: (text: string) => Promise<void>): SqlStore {
  const database = new DatabaseSync(":memory:");
  for (const migration of sqliteLedgerMigrations) database.exec(migration);
  const store = createSqliteStore(database, { flush: pass, close: () => undefined, nextTurn: pass });
  return {
    ...store,
    change: async (text, parameters) => {
      await beforeStatement(text);
      return store.change(text, parameters);
    },
  };
}

const intervalMs = 100;
const drainMs = 1;

/** A replica whose polling pauses until the test resumes it; other waits last forever. */
function startReplica({
  beforeStatement = pass as (text: string) => Promise<void>,
  isStopping = false,
  check = async (): Promise<Rejection | undefined> => undefined,
} = {}) {
  const stop = new AbortController();
  if (isStopping) stop.abort();
  const pendingPauses: (() => void)[] = [];
  const pause = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (ms === intervalMs) pendingPauses.push(resolve);
      if (ms === drainMs) resolve();
      signal?.addEventListener("abort", () => resolve(), { once: true });
    });
  const store = openStore(beforeStatement);
  const sharedLedger = createSharedLedger({ chainId: 1_672 }, { store, clock: () => sampleMs });
  const { requests, lease, inTerm } = sharedLedger;
  const settlement = { pollIntervalMs: intervalMs, receiptTimeoutMs: 1_000_000, drainMs, inFlightMax: 10 };
  const context = { settlement, pause, check, clock: () => sampleMs, signal: stop.signal, log, random: Math.random };
  const watch = createOutcomeWatch(context as unknown as SettlementContext, requests);
  const parts = { watch, onRequest: () => undefined };
  const settler = createSharedSettler(context as unknown as SettlementContext, sharedLedger, parts);
  const poll = () => {
    for (const end of pendingPauses.splice(0)) end();
  };
  return { settler, requests, lease, inTerm, watch, poll };
}

test("reports a duplicate to a declined sale once the next sale has settled the payment", async () => {
  const { settler, requests, lease, inTerm, watch, poll } = startReplica();
  await using _ = watch;
  const firstSettlement = settler.settle(payment, createSale("first"));
  await new Promise(setImmediate);
  expect(watch.size(), "the first sale waits").toBe(1);
  const leader = inTerm((await lease.acquire()) ?? 0);
  await leader.requests.decline(payment.id, "the chain charges too much");
  const settlement = toSettlement(payment, "second", sampleMs);
  expect(await requests.add(settlement)).toBe(true);
  await leader.ledger.begin([{ settlement, attempt: sampleAttempt }]);
  await leader.ledger.finish(new Map([[payment.id, { state: "settled", transaction: sampleAttempt.hash }]]));
  poll();
  expect(await firstSettlement).toEqual({ state: "duplicate", transaction: sampleAttempt.hash });
  const secondSettlement = settler.settle(payment, createSale("second"));
  expect(await secondSettlement).toMatchObject({ state: "settled", transaction: sampleAttempt.hash });
});

test("reports pending in a stopping replica when the request is declined during a retry", async () => {
  let onAcquire: () => Promise<void> = pass;
  const { settler, requests, lease, inTerm, watch } = startReplica({
    beforeStatement: async (text) => (text.startsWith("UPDATE settlement SET owner = $3") ? onAcquire() : undefined),
    isStopping: true,
  });
  await using _ = watch;
  expect(await requests.add(toSettlement(payment, "first", sampleMs))).toBe(true);
  const leader = inTerm((await lease.acquire()) ?? 0);
  onAcquire = () => leader.requests.decline(payment.id, "the chain charges too much");
  const caller = createSale("first");
  expect(await settler.settle(payment, caller)).toEqual({ state: "pending", transaction: "" });
});

test("settles an amount of zero without a request, unless another amount was requested", async () => {
  const { settler, requests, watch, poll } = startReplica();
  await using _ = watch;
  const unusedPayment = { ...payment, amount: 0n };
  expect(await settler.settle(unusedPayment, createSale("first"))).toEqual({ state: "unused" });
  expect((await requests.states([payment.id])).size).toBe(0);
  await requests.add(toSettlement(payment, "first", sampleMs));
  const joinedSettlement = settler.settle(unusedPayment, createSale("first"));
  await new Promise(setImmediate);
  expect(watch.size()).toBe(1);
  poll();
  void joinedSettlement;
});

test("limits a seller to its share of the settlements in flight", async () => {
  const payments = Array.from({ length: 9 }, (_, index) => createPayment(index + 1));
  const { settler, watch } = startReplica();
  const settle = (from: number, to: number, caller: string) => {
    const settlements = payments
      .slice(from, to)
      .map((each) => settler.settle(each, { ...createSale(each.id), waiting: { caller, signal: undefined } }));
    return settlements.map((each) => each.then(() => undefined, String));
  };
  const greedySettlements = settle(0, 9, "greedy");
  expect(await Promise.race(greedySettlements)).toBe(
    "OverloadError: too many of your settlements are in flight; try again in a moment",
  );
  await new Promise(setImmediate);
  expect(watch.size()).toBe(8);
  const [anotherSettlement] = settle(8, 9, "another");
  await new Promise(setImmediate);
  expect(watch.size()).toBe(9);
  await watch[Symbol.asyncDispose]();
  void anotherSettlement;
});

test("treats a payment as in flight until its last copy is rejected", async () => {
  const checks: ((rejection: Rejection) => void)[] = [];
  const { settler, watch } = startReplica({ check: () => new Promise((resolve) => checks.push(resolve)) });
  await using _ = watch;
  const { id, callData } = payment;
  const copies = ["first", "second"].map((sale) => settler.settle(payment, createSale(sale)));
  expect(settler.callInFlight(id)).toBe(callData);
  while (checks.length < 2) await new Promise(setImmediate);
  const rejection = { reason: reason.balance, message: "the balance is 0." };
  checks[0]?.(rejection);
  await Promise.race(copies);
  expect(settler.callInFlight(id), "a copy is still checked").toBe(callData);
  checks[1]?.(rejection);
  await Promise.all(copies);
  expect(settler.callInFlight(id)).toBeUndefined();
});
