import { expect, test } from "vitest";
import type { SqlStore } from "#daemon/sql/store.ts";
import type { Hex } from "#x402/hex.ts";
import { findSettled, readSettledAfter, readSettlements } from "../settlement/ledger/settlement-queries.ts";
import {
  channelsAddress,
  encodeDeposit,
  buildDepositKey,
  buildSellerDepositKey,
} from "#x402/batch-settlement/channel.ts";
import { createLedger, createRecordChecks } from "../settlement/ledger/ledger.ts";
import { createRefundStore } from "../settlement/ledger/refunds.ts";
import { createSaleStore, payerIdentifiersMax } from "../settlement/ledger/sales.ts";
import { attempt, settled, settlement } from "./ledger-contract.ts";
import { buildChannelConfig } from "./sample-settlement.ts";

const payer = `0x${"0A".repeat(20)}` as const;
const dayMs = 86_400_000;
const chain = { chainId: 1_672 };
const idOf = (number: number) => `0x${number.toString(16).padStart(64, "0")}` as const;

type Open = () => Promise<SqlStore>;

async function openScene(open: Open) {
  const store = await open();
  const time = { nowMs: 20_000 * dayMs };
  const dependencies = { store, clock: () => time.nowMs };
  const sales = createSaleStore(chain, dependencies);
  const ledger = createLedger(chain, { ...dependencies, guard: async () => undefined });
  const refunds = createRefundStore(chain, dependencies);
  return { time, store, sales, ledger, refunds, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** Defines the tests of sales, refunds and their export, whatever their storage. `open` opens an empty ledger. */
export function testSales(open: Open): void {
  testSellers(open);
  testPayers(open);
  testRefundNonces(open);
  testRefunds(open);
  testQueries(open);
}

function testSellers(open: Open): void {
  test("counts a seller's gas once, over 24 hours across midnight", async () => {
    await using scene = await openScene(open);
    const { sales, time } = scene;
    for (const id of ["0x1", "0x2"] as const) await sales.add({ id, payer, seller: "alice", identifier: undefined });
    const wei = 2n ** 70n;
    const gas = new Map([["0x1", wei] as const, ["0x2", 5n] as const, ["0x3", 7n] as const]);
    expect(await sales.addGas(gas)).toEqual(new Map([["alice", wei + 5n]]));
    expect(await sales.addGas(new Map([["0x1", wei]]))).toEqual(new Map());
    const firstHour = { spent: wei + 5n, dearest: wei, forgottenMs: 20_001 * dayMs + 3_600_000 };
    expect(await sales.dailyGas("alice")).toEqual([firstHour]);
    time.nowMs += dayMs - 1;
    expect(await sales.addGas(new Map([["0x4", 3n]]))).toEqual(new Map());
    await sales.add({ id: "0x4", payer, seller: "alice", identifier: undefined });
    await sales.addGas(new Map([["0x4", 3n]]));
    time.nowMs += 1;
    const laterHour = { spent: 3n, dearest: 3n, forgottenMs: 20_002 * dayMs };
    expect(await sales.dailyGas("alice"), "after midnight").toEqual([firstHour, laterHour]);
    time.nowMs += 3_600_000;
    expect(await sales.dailyGas("alice")).toEqual([laterHour]);
    time.nowMs += dayMs;
    expect(await sales.dailyGas("alice")).toEqual([]);
    expect(await sales.forget(time.nowMs - 1, 10)).toBe(3);
  });

  test("counts gas recorded per day until 24 hours after the day's first hour", async () => {
    await using scene = await openScene(open);
    const { sales, store, time } = scene;
    const day = new Date(time.nowMs).toISOString().slice(0, 10);
    const row =
      "INSERT INTO seller_day (chain_id, seller, day, gas_paid, dearest) VALUES (1672, 'alice', $1, '7', '4')";
    await store.change(row, [day]);
    time.nowMs += dayMs - 1;
    const oldHour = { spent: 7n, dearest: 4n, forgottenMs: 20_001 * dayMs + 3_600_000 };
    expect(await sales.dailyGas("alice")).toEqual([oldHour]);
    time.nowMs += 3_600_001;
    expect(await sales.dailyGas("alice")).toEqual([]);
  });
}

function testPayers(open: Open): void {
  test("reports that a payer has paid in a token once a payment is settled", async () => {
    await using scene = await openScene(open);
    const { ledger, store } = scene;
    const ask = (changes: object = {}) =>
      createRecordChecks({ ...chain, store }).hasPaid({ ...settlement, ...changes });
    expect(await ask()).toBe(false);
    await ledger.begin([{ settlement, attempt }]);
    expect(await ask(), "begun").toBe(false);
    await ledger.finish(new Map([[settlement.id, settled]]));
    expect(await ask({ asset: `0x${"A5".repeat(20)}` })).toBe(true);
    expect(await ask({ asset: payer, contract: payer }), "another token").toBe(false);
    expect(await ask({ payer }), "another payer").toBe(false);
  });

  test("finds a settled deposit by its channel, and by its seller and token", async () => {
    await using scene = await openScene(open);
    const { ledger, store } = scene;
    const { hasDeposit } = createRecordChecks({ ...chain, store });
    const config = buildChannelConfig(settlement);
    const by = { collector: "erc3009Collector", validAfter: 0n, validBefore: 1n, salt: 1n, signature: "0x12" } as const;
    const deposit = { ...settlement, contract: channelsAddress, callData: encodeDeposit(config, 5n, by) };
    const [one, all] = [buildDepositKey(config), buildSellerDepositKey(config.receiver, config.token)];
    const ask = () => Promise.all([hasDeposit(one), hasDeposit(all)]);
    await ledger.begin([{ settlement: deposit, attempt }]);
    expect(await ask(), "begun").toEqual([false, false]);
    await ledger.finish(new Map([[deposit.id, settled]]));
    expect(await ask()).toEqual([true, true]);
    const otherConfigs = [{ salt: `0x${"01".repeat(32)}` }, { payer }, { receiver: payer }, { token: payer }] as const;
    for (const otherConfig of otherConfigs)
      expect(await hasDeposit(buildDepositKey({ ...config, ...otherConfig }))).toBe(false);
    expect(await hasDeposit(buildSellerDepositKey(payer, config.token))).toBe(false);
    expect(await hasDeposit(buildSellerDepositKey(config.receiver, payer))).toBe(false);
  });

  test("keeps a payer's newest identifiers, without evicting another payer's", async () => {
    await using scene = await openScene(open);
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
    const foundConflicts = [await conflicts(payer, "0"), await conflicts(payer, "1"), await conflicts(other, "0")];
    expect(foundConflicts).toEqual([false, true, true]);
    expect(await add(payer, "1", "b"), "a conflict is not recorded").toBe(false);
    const otherStore = createSaleStore(
      { chainId: 1, firstChainId: chain.chainId },
      { ...scene, clock: () => time.nowMs },
    );
    const reusedIdentifier = { id: "1", fingerprint: "b" };
    expect(await otherStore.isConflict(payer, reusedIdentifier), "an identifier covers all networks").toBe(true);
    expect(await add(payer, "1"), "the same one is no conflict").toBe(true);
  });

  test("binds an identifier to one of ten concurrent fingerprints", async () => {
    await using scene = await openScene(open);
    const bind = (fingerprint: string) =>
      scene.sales.add({ id: "0x1", payer, seller: undefined, identifier: { id: "one", fingerprint } });
    const bound = await Promise.all(Array.from({ length: 10 }, (_, at) => bind(String(at))));
    expect(bound.filter(Boolean)).toHaveLength(1);
  });
}

function testRefundNonces(open: Open): void {
  test("records one refund for each nonce of a payee", async () => {
    await using scene = await openScene(open);
    const { ledger, refunds } = scene;
    const ids = ["0x1", "0x2", "0x3"] as const;
    for (const id of ids) await ledger.begin([{ settlement: { ...settlement, id, authorizationNonce: id }, attempt }]);
    const sign = (id: Hex, nonce: number) =>
      ({ id, amount: 1n, hash: `0x${nonce}`, signer: payer, nonce, rawTransaction: "0x02" }) as const;
    const begun = await Promise.all(ids.map((id) => refunds.begin(sign(id, 7))));
    expect(begun.filter(Boolean)).toHaveLength(1);
    const [first, second] = ids.toSorted(
      (one, other) => Number(begun[ids.indexOf(other)]) - Number(begun[ids.indexOf(one)]),
    );
    expect(await refunds.findByNonce({ signer: payer, nonce: 7 })).toBe(first);
    expect(await refunds.begin(sign(second ?? "0x", 8))).toBe(true);
    await refunds.end({ ...sign(second ?? "0x", 8), state: "sent" }, "failed");
    expect(await refunds.begin(sign(second ?? "0x", 7)), "nor replaces a failed one").toBe(false);
    expect(await refunds.begin(sign(second ?? "0x", 9))).toBe(true);
  });
}

function testRefunds(open: Open): void {
  test("records one refund of a settlement, and another only after it failed or was lost", async () => {
    await using scene = await openScene(open);
    const { ledger, refunds, sales, store } = scene;
    const { id } = settlement;
    await sales.add({ id, payer, seller: "alice", identifier: undefined });
    await ledger.begin([{ settlement, attempt }]);
    const sign = (hash: string) =>
      ({ id, amount: 2n ** 200n, hash: `0x${hash}`, signer: payer, nonce: 1, rawTransaction: "0x02" }) as const;
    await ledger.finish(new Map([[id, settled]]));
    const starts = await Promise.all(["a1", "a2", "a3"].map((hash) => refunds.begin(sign(hash))));
    expect(starts.filter(Boolean)).toHaveLength(1);
    const firstHour = await refunds.find(id);
    expect(firstHour).toMatchObject({ state: "sent", amount: 2n ** 200n });
    expect(await refunds.begin(sign("a4"), "0xff")).toBe(false);
    expect(await refunds.begin(sign("a4"), firstHour?.hash)).toBe(true);
    if (firstHour !== undefined) await refunds.end(firstHour, "failed");
    const secondRefund = await refunds.find(id);
    expect(secondRefund, "a replaced refund's outcome is ignored").toMatchObject({ state: "sent", hash: "0xa4" });
    if (secondRefund !== undefined) await refunds.end(secondRefund, "failed");
    expect(await refunds.begin(sign("a5"))).toBe(true);
    const thirdRefund = await refunds.find(id);
    if (thirdRefund !== undefined) await refunds.end(thirdRefund, "refunded");
    expect(await refunds.begin(sign("a6"), "0xa5"), "a refund is final").toBe(false);
    const { asset, payer: from, authorizationNonce } = settlement;
    const name = ["eip155:1672", asset, from, authorizationNonce].join("|");
    expect(await findSettled(name, chain, { store })).toMatchObject({ id });
    expect(await findSettled(id, chain, { store })).toMatchObject({ id });
    expect(await findSettled(name.replace("1672", "1"), chain, { store })).toBeUndefined();
    const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, seller: undefined };
    const pages = await Array.fromAsync(readSettlements(all, chain, { store }));
    expect(pages.flat()).toMatchObject([
      {
        seller: "alice",
        attempts: [attempt],
        refund: { state: "refunded", amount: String(2n ** 200n), transaction: "0xa5" },
      },
    ]);
    const ofBob = await Array.fromAsync(readSettlements({ ...all, seller: "bob" }, chain, { store }));
    expect(ofBob.flat()).toEqual([]);
  });

  test("exports each settlement once across pages, even of one millisecond", async () => {
    await using scene = await openScene(open);
    const { ledger, store, time } = scene;
    const ids = Array.from({ length: 450 }, (_, at) => idOf(at));
    const started = ids.map((id) => ({
      settlement: { ...settlement, id, authorizationNonce: id },
      attempt: { ...attempt, hash: id },
    }));
    await ledger.begin(started);
    const outcomes = ids.slice(0, 430).map((id) => [id, { ...settled, transaction: id }] as const);
    await ledger.finish(new Map(outcomes.slice(0, 300)));
    time.nowMs += 1;
    await ledger.finish(new Map(outcomes.slice(300)));
    const all = { fromMs: 0, toMs: time.nowMs + 1, seller: undefined };
    const pages = await Array.fromAsync(readSettlements(all, chain, { store }));
    expect(pages.flat().map((one) => one.settlement.id)).toEqual(ids);
    expect(Math.max(...pages.map(({ length }) => length))).toBe(200);
    expect(pages.flat().every(({ attempts, settlement: { id } }) => attempts[0]?.hash === id)).toBe(true);
    const laterHour = await Array.fromAsync(readSettlements({ ...all, fromMs: time.nowMs }, chain, { store }));
    expect(laterHour.flat()).toHaveLength(130);
  });
}

function testQueries(open: Open): void {
  const startMs = 1_000;

  test("reads settlements after a position, oldest first, with equal times by id", async () => {
    await using store = await open();
    const write = (number: number, finishedAtMs: number, state = "settled", chainId = chain.chainId) =>
      store.change(
        `INSERT INTO settlement (chain_id, id, asset, payer, pay_to, amount, authorization_nonce, valid_before, call_data,
           begun_at_ms, state, transaction_hash, finished_at_ms)
         VALUES ($1, $2, '0xa5', '0x01', '0x02', '7', $2, '0', '0x', 0, $3, $2, $4)`,
        [chainId, idOf(number), state, finishedAtMs],
      );
    const beforeMs = startMs + 2;
    await write(3, startMs + 1);
    await write(2, startMs);
    await write(1, startMs);
    await write(4, startMs + 2);
    await write(5, startMs, "failed");
    await write(6, startMs, "settled", 1);
    const readAfter = (finishedAtMs: number, id: string, max = 10) =>
      readSettledAfter({ after: { finishedAtMs, id }, beforeMs, max }, chain, { store });
    const readNumbersAfter = async (...location: Parameters<typeof readAfter>) =>
      (await readAfter(...location)).map((one) => Number(one.settlement.id));
    expect(await readNumbersAfter(startMs, "")).toEqual([1, 2, 3]);
    expect(await readNumbersAfter(startMs, "", 2)).toEqual([1, 2]);
    expect(await readNumbersAfter(startMs, idOf(1))).toEqual([2, 3]);
    expect(await readNumbersAfter(startMs + 1, "")).toEqual([3]);
    const [firstHour] = await readAfter(startMs, "", 1);
    expect(firstHour).toMatchObject({ transaction: idOf(1), finishedAtMs: startMs });
  });
}
