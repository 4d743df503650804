import { pino } from "pino";
import { expect, test } from "vitest";
import type { Hex } from "#x402/hex.ts";
import { createSuspensions } from "./suspensions.ts";

const parties = (payer: number, asset = 0) => ({
  payer: `0x${String(payer).padStart(40, "0")}` as Hex,
  asset: `0x${String(asset).padStart(40, "a")}` as Hex,
});

function createClocked(paid: readonly number[] = []) {
  const state = { nowMs: 5_000 };
  const log = pino({ level: "silent" });
  const hasPaid = async ({ payer }: { payer: Hex }) => paid.includes(Number(payer.slice(2)));
  return { state, ...createSuspensions({ monotonicMs: () => state.nowMs, log, hasPaid }) };
}

test("a payer is rejected for a minute, then two, whatever the token, until a payment of it is settled", () => {
  const { state, add, end, refuse } = createClocked();
  add({ kind: "payer" }, parties(1));
  expect(refuse(parties(1, 7))?.message).toMatch(/the payer 0x0+1 .* rejected for another 60 s/);
  expect(refuse(parties(2))).toBeUndefined();
  state.nowMs += 60_000;
  expect(refuse(parties(1))).toBeUndefined();
  add({ kind: "payer" }, parties(1));
  expect(refuse(parties(1))?.message).toMatch(/another 120 s/);
  end(parties(1));
  add({ kind: "payer" }, parties(1));
  expect(refuse(parties(1))?.message).toMatch(/another 60 s/);
});

test("a token is rejected for all payers; the oldest of a thousand is forgotten", () => {
  const { add, refuse } = createClocked();
  add({ kind: "token" }, parties(1, 7));
  expect(refuse(parties(2, 7))?.reason).toBe("invalid_exact_evm_transaction_failed");
  expect(refuse(parties(1, 8))).toBeUndefined();
  for (let payer = 1; payer <= 1_000; payer += 1) add({ kind: "payer" }, parties(payer));
  expect(refuse(parties(0, 7))).toBeUndefined();
  expect(refuse(parties(1_000, 7))).toBeDefined();
});

const payment = (payer: number) => ({ ...parties(payer), contract: parties(0).asset, callData: "0x" as Hex });

test("wallets with one code share their failures: from the third on those that never paid are rejected, longer each time", async () => {
  const { state, add, refusesWallets, refuseWallet } = createClocked([9]);
  const fail = (payer: number, code: Hex = "0x60") => add({ kind: "wallet", code }, parties(payer));
  for (const payer of [1, 2, 2]) fail(payer);
  expect(refusesWallets(), "two wallets, one of them twice").toBe(false);
  fail(3);
  expect(refusesWallets()).toBe(true);
  expect((await refuseWallet(payment(5), "0x60"))?.message).toMatch(/^3 wallets .* another 60 s/);
  expect(await refuseWallet(payment(9), "0x60"), "paid before").toBeUndefined();
  expect(await refuseWallet(payment(5), "0x61"), "another code").toBeUndefined();
  state.nowMs += 60_000;
  expect(refusesWallets()).toBe(false);
  expect(await refuseWallet(payment(5), "0x60")).toBeUndefined();
  fail(4);
  expect((await refuseWallet(payment(5), "0x60"))?.message).toMatch(/another 120 s/);
  for (let payer = 10; payer < 15; payer += 1) fail(payer);
  expect((await refuseWallet(payment(5), "0x60"))?.message).toMatch(/another 600 s/);
});

test("an hour without a failure ends the doubling of a code's suspension", async () => {
  const { state, add, refusesWallets } = createClocked();
  for (const payer of [1, 2, 3]) add({ kind: "wallet", code: "0x60" }, parties(payer));
  state.nowMs += 3_660_001;
  for (const payer of [4, 5]) add({ kind: "wallet", code: "0x60" }, parties(payer));
  expect(refusesWallets()).toBe(false);
  add({ kind: "wallet", code: "0x60" }, parties(6));
  expect(refusesWallets()).toBe(true);
});

test("wallets of ever new code share what they may waste in an hour, and those that paid before are not rejected", async () => {
  const { state, add, refusesWallets, refuseWallet } = createClocked([9]);
  const fail = (payer: number) => add({ kind: "wallet", code: `0x60${payer}` }, parties(payer));
  for (let payer = 10; payer < 19; payer += 1) {
    fail(payer);
    state.nowMs += 60_000;
  }
  expect(refusesWallets(), "nine wallets").toBe(false);
  fail(20);
  expect(refusesWallets()).toBe(true);
  expect((await refuseWallet(payment(5), "0x"))?.message).toMatch(/^10 wallets rejected .* another 3060 s/);
  expect(await refuseWallet(payment(9), "0x61"), "paid before").toBeUndefined();
  state.nowMs += 3_060_000;
  expect(refusesWallets()).toBe(false);
  expect(await refuseWallet(payment(5), "0x")).toBeUndefined();
  fail(21);
  expect((await refuseWallet(payment(5), "0x"))?.message, "since the second one").toMatch(/another 60 s/);
});
