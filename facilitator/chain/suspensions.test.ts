import { pino } from "pino";
import { expect, test } from "vitest";
import { channelsAddress, encodeSettle } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { createSuspensions } from "./suspensions.ts";

const parties = (payer: number, asset = 0) => ({
  payer: `0x${String(payer).padStart(40, "0")}` as Hex,
  asset: `0x${String(asset).padStart(40, "a")}` as Hex,
});

const payment = (payer: number, asset = 0) => ({
  ...parties(payer, asset),
  contract: parties(0).asset,
  callData: "0x" as Hex,
});

function createClocked(paid: readonly number[] = []) {
  const state = { nowMs: 5_000 };
  const log = pino({ level: "silent" });
  const hasPaid = async ({ payer }: { payer: Hex }) => paid.includes(Number(payer.slice(2)));
  const suspensions = createSuspensions({ monotonicMs: () => state.nowMs, log, hasPaid });
  const { add, end, reject } = suspensions;
  return {
    state,
    suspensions,
    add,
    end,
    reject: (payer: number, code: Hex = "0x", asset = 0) => reject(payment(payer, asset), { code: async () => code }),
    asksForCode: async () => {
      let isRequested = false;
      await reject(payment(999), {
        code: async () => {
          isRequested = true;
          return "0x";
        },
      });
      return isRequested;
    },
  };
}

test("rejects a payer for one minute, then for two, until one of its payments is settled", async () => {
  const { state, add, end, reject } = createClocked();
  add({ kind: "payer" }, parties(1));
  expect((await reject(1, "0x", 7))?.message).toMatch(/the payer 0x0+1 .* rejected for another 60 s/);
  expect(await reject(2)).toBeUndefined();
  state.nowMs += 60_000;
  expect(await reject(1)).toBeUndefined();
  add({ kind: "payer" }, parties(1));
  expect((await reject(1))?.message).toMatch(/another 120 s/);
  end(parties(1));
  add({ kind: "payer" }, parties(1));
  expect((await reject(1))?.message).toMatch(/another 60 s/);
});

test("rejects a token for all payers, and evicts the oldest of a thousand suspensions", async () => {
  const { add, reject } = createClocked();
  add({ kind: "token" }, parties(1, 7));
  expect((await reject(2, "0x", 7))?.reason).toBe("invalid_exact_evm_transaction_failed");
  expect(await reject(1, "0x", 8)).toBeUndefined();
  for (let payer = 1; payer <= 1_000; payer += 1) add({ kind: "payer" }, parties(payer));
  expect(await reject(0, "0x", 7)).toBeUndefined();
  expect(await reject(1_000, "0x", 7)).toBeDefined();
});

test("rejects new wallets after three failures of their code, longer each time", async () => {
  const { state, add, asksForCode, reject } = createClocked([9]);
  const fail = (payer: number, code: Hex = "0x60") => add({ kind: "wallet", code }, parties(payer));
  for (const payer of [1, 2, 2]) fail(payer);
  expect(await asksForCode(), "two wallets, one of them twice").toBe(false);
  fail(3);
  expect(await asksForCode()).toBe(true);
  expect((await reject(5, "0x60"))?.message).toMatch(/^3 wallets .* another 60 s/);
  expect(await reject(9, "0x60"), "paid before").toBeUndefined();
  expect(await reject(5, "0x61"), "another code").toBeUndefined();
  state.nowMs += 60_000;
  expect(await asksForCode()).toBe(false);
  expect(await reject(5, "0x60")).toBeUndefined();
  fail(4);
  expect((await reject(5, "0x60"))?.message).toMatch(/another 120 s/);
  for (let payer = 10; payer < 15; payer += 1) fail(payer);
  expect((await reject(5, "0x60"))?.message).toMatch(/another 600 s/);
});

test("resets a code's suspension after an hour without a failure", async () => {
  const { state, add, asksForCode } = createClocked();
  for (const payer of [1, 2, 3]) add({ kind: "wallet", code: "0x60" }, parties(payer));
  state.nowMs += 3_660_001;
  for (const payer of [4, 5]) add({ kind: "wallet", code: "0x60" }, parties(payer));
  expect(await asksForCode()).toBe(false);
  add({ kind: "wallet", code: "0x60" }, parties(6));
  expect(await asksForCode()).toBe(true);
});

test("rejects new wallets of any code after ten failures in an hour", async () => {
  const { state, add, asksForCode, reject } = createClocked([9]);
  const fail = (payer: number) => add({ kind: "wallet", code: `0x60${payer}` }, parties(payer));
  for (let payer = 10; payer < 19; payer += 1) {
    fail(payer);
    state.nowMs += 60_000;
  }
  expect(await asksForCode(), "nine wallets").toBe(false);
  fail(20);
  expect(await asksForCode()).toBe(true);
  expect((await reject(5, "0x62"))?.message).toMatch(/^10 wallets rejected .* another 3060 s/);
  expect(await reject(9, "0x61"), "paid before").toBeUndefined();
  state.nowMs += 3_060_000;
  expect(await asksForCode()).toBe(false);
  expect(await reject(5, "0x62")).toBeUndefined();
  fail(21);
  expect((await reject(5, "0x62"))?.message, "since the second one").toMatch(/another 60 s/);
});

test("rejects neither payers with a key nor channel calls after three failed wallets", async () => {
  const { add, suspensions } = createClocked();
  const fail = (code: Hex, payers: readonly number[]) => {
    for (const payer of payers) add({ kind: "wallet", code }, parties(payer));
  };
  const reject = (changes: object, code: Hex = "0x") =>
    suspensions.reject({ ...payment(1), ...changes }, { code: async () => code });
  fail("0x60", [2, 3, 4]);
  expect(await reject({ contract: multicall3Address }), "a wallet not created yet").toBeUndefined();
  fail("0x", [5, 6, 7]);
  expect((await reject({ contract: multicall3Address }))?.reason).toBe("invalid_exact_evm_transaction_failed");
  expect(await reject({}), "a key").toBeUndefined();
  const { payer, asset } = parties(1);
  const settle = { contract: channelsAddress, callData: encodeSettle(payer, asset) };
  expect(await reject(settle, "0x60"), "a seller's wallet pays nothing").toBeUndefined();
});
