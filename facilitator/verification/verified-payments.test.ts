import { expect, test } from "vitest";
import { createRecentVerdicts, verdictFreshMs } from "./verified-payments.ts";
import type { SignedPayment } from "#x402/signed-payment.ts";

const payer = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const asset = "0x00000000000000000000000000000000000000AA";

function payment(name: string, change: Partial<SignedPayment> = {}): SignedPayment {
  const authorization = {
    from: payer,
    to: payer,
    value: 1n,
    validAfter: 0n,
    validBefore: 1n,
    nonce: `0x${name}`,
  } as const;
  return {
    id: `0x${name}`,
    asset,
    contract: asset,
    payer,
    payTo: payer,
    amount: 1n,
    authorization,
    callData: `0x${name}`,
    ...change,
  };
}

function remember(entriesMax = 100) {
  const time = { nowMs: 1_000 };
  return { time, recent: createRecentVerdicts({ entriesMax }, { monotonicMs: () => time.nowMs }) };
}

test("caches a valid signature, but no invalid one and no other signature of the payment", () => {
  const { recent } = remember();
  const recoveredSigners: string[] = [];
  const ask = (asked: SignedPayment, isGood: boolean) =>
    recent.isSigned(asked, () => {
      recoveredSigners.push(asked.callData);
      return isGood;
    });
  const first = payment("01");
  expect([ask(first, true), ask(first, false)]).toEqual([true, true]);
  const forgedPayment = payment("01", { callData: "0xff" });
  expect([ask(forgedPayment, false), ask(forgedPayment, false), ask(first, false)]).toEqual([false, false, true]);
  expect(recoveredSigners).toEqual(["0x01", "0xff", "0xff"]);
});

test.each([
  ["accepts", "just before it expires", verdictFreshMs - 1, true],
  ["rejects", "once it has expired", verdictFreshMs, false],
])("%s a cached verdict %s", (_, _when, ageMs, counts) => {
  const { recent, time } = remember();
  recent.recordGood(payment("01"), time.nowMs);
  time.nowMs += ageMs;
  expect(recent.acquireGood(payment("01"))).toBe(counts);
});

test("uses a cached verdict once, and only for its own payment", () => {
  const { recent, time } = remember();
  recent.recordGood(payment("01"), time.nowMs);
  expect(recent.acquireGood(payment("02"))).toBe(false);
  recent.recordGood(payment("01"), (time.nowMs += 1));
  expect([recent.acquireGood(payment("01")), recent.acquireGood(payment("01"))]).toEqual([true, false]);
});

test("invalidates the verdict of a payer's second payment once the first is settled", () => {
  const { recent, time } = remember();
  recent.recordGood(payment("01"), time.nowMs);
  recent.recordGood(payment("02"), time.nowMs);
  const otherPayments = [payment("03", { payer: asset }), payment("04", { asset: payer })];
  for (const otherPayment of otherPayments) recent.recordGood(otherPayment, time.nowMs);
  expect([recent.acquireGood(payment("01")), recent.acquireGood(payment("02"))]).toEqual([true, false]);
  expect(otherPayments.map(recent.acquireGood), "another payer's, and the payer's in another token").toEqual([
    true,
    true,
  ]);
});

test("discards a verdict requested before a settlement of the payer started or ended", () => {
  const { recent, time } = remember();
  const verifiedAtMs = time.nowMs;
  time.nowMs += 1;
  recent.forgetPayer(payment("01", { payer: payer.toLowerCase() as typeof payer }));
  recent.recordGood(payment("02"), verifiedAtMs);
  expect(recent.acquireGood(payment("02"))).toBe(false);
  recent.recordGood(payment("02"), (time.nowMs += 1));
  expect(recent.acquireGood(payment("02"))).toBe(true);
});

test("evicts the oldest verdicts and signatures beyond the limit", () => {
  const { recent, time } = remember(2);
  const manyPayments = ["01", "02", "03"].map((name) => payment(name, { payer: `0x${name.repeat(20)}` }));
  let recoveries = 0;
  for (const one of manyPayments) {
    recent.recordGood(one, time.nowMs);
    recent.isSigned(one, () => true);
  }
  expect(manyPayments.toReversed().map(recent.acquireGood)).toEqual([true, true, false]);
  for (const one of manyPayments.toReversed()) recent.isSigned(one, () => (recoveries += 1) > 0);
  expect(recoveries).toBe(1);
});
