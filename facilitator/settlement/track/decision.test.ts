import { expect, test } from "vitest";
import type { Receipt } from "../../chain/chain.ts";
import { authorizationUsedTopic, transferTopic } from "../../chain/token.ts";
import { encodeInteger, type Hex, encodeAddressTopic } from "#x402/hex.ts";
import { sampleAttempt, sampleMs, sampleSettlement } from "../../testing/sample-settlement.ts";
import { decide, type Observation } from "./decision.ts";
import { type Attempt, createInFlightSettlements } from "../settlement.ts";

const { signer } = sampleAttempt;
/** By the monotonic clock. */
const nowMs = 1_000_000;
const clocks = { clock: () => sampleMs, monotonicMs: () => nowMs };
const settlement = sampleSettlement;

function attempt(changes: Partial<Attempt> = {}): Attempt {
  return { ...sampleAttempt, ...changes };
}

function receipt(changes: Partial<Receipt> = {}): Receipt {
  const { asset, payer, payTo, amount } = settlement;
  const topics = [transferTopic, encodeAddressTopic(payer), encodeAddressTopic(payTo)];
  const logs = [{ address: asset, topics, data: `0x${encodeInteger(amount)}` as const }];
  return { status: 1, blockNumber: 100, transactionHash: attempt().hash, gasUsed: 65_000n, logs, ...changes };
}

const failIn = (blockNumber: number, { hash }: Attempt) =>
  [hash, receipt({ status: 0, logs: [], transactionHash: hash, blockNumber })] as const;

function observe(changes: Partial<Observation> & { receipt?: Receipt; nextNonce?: number } = {}): Observation {
  const { receipt: only, nextNonce = 5, ...rest } = changes;
  const receipts = new Map(only === undefined ? [] : [[only.transactionHash, only]]);
  const head = { number: 100, timestamp: sampleMs / 1_000, baseFeePerGas: 1n };
  return { head, nextNonces: new Map([[signer, nextNonce]]), receipts, nowMs, ...rest };
}

function entry(attempts: readonly Attempt[] = [attempt()], changes: object = { sentAtMs: nowMs - 1_000 }) {
  return Object.assign(createInFlightSettlements(clocks).add(settlement, attempts), changes);
}

const options = { confirmations: 1, bumpAfterMs: 15_000, bumpPercent: 25, maxFeePerGasGwei: 1 };
const transaction = attempt().hash;

test("finishes a settlement whose receipt shows the transfer", () => {
  expect(decide(entry(), observe({ nextNonce: 6, receipt: receipt() }), options)).toEqual({
    kind: "finish",
    outcome: { state: "settled", transaction, amount: sampleSettlement.amount },
  });
});

test("waits for the configured confirmations", () => {
  const deep = { ...options, confirmations: 3 };
  expect(decide(entry(), observe({ nextNonce: 6, receipt: receipt() }), deep)).toEqual({ kind: "wait" });
  const head = { number: 102, timestamp: 0, baseFeePerGas: 1n };
  expect(decide(entry(), observe({ head, nextNonce: 6, receipt: receipt() }), deep)).toMatchObject({
    kind: "finish",
  });
});

test("replaces the transaction at the next nonce even if a newer one waits behind it", () => {
  const newer = attempt({ hash: `0x${"bb".repeat(32)}`, nonce: 7 });
  const bothAttempts = entry([attempt(), newer], { sentAtMs: nowMs - 1_000, pricedAtMs: nowMs - 20_000 });
  expect(decide(bothAttempts, observe(), options)).toEqual({ kind: "replace", nonce: 5, resends: false });
});

test("resends an open transaction after an earlier one succeeded without the transfer", () => {
  const laterAttempt = attempt({ hash: `0x${"bb".repeat(32)}`, nonce: 6 });
  const both = entry([attempt(), laterAttempt], { sentAtMs: nowMs - 10_000, pricedAtMs: nowMs });
  const emptyReceipt = receipt({ logs: [] });
  expect(decide(both, observe({ nextNonce: 6, receipt: emptyReceipt }), options)).toEqual({ kind: "resend" });
});

test("diagnoses a successful transaction without the transfer", () => {
  const otherReceipt = receipt({ logs: [{ ...receipt().logs[0]!, data: `0x${encodeInteger(9_999n)}` }] });
  expect(decide(entry(), observe({ nextNonce: 6, receipt: otherReceipt }), options)).toEqual({
    kind: "diagnose",
    cause: "nothing_moved",
  });
});

test("finishes a batched settlement only by its own authorization use and transfer", () => {
  const sharedEntry = entry([attempt({ batch: { index: 1, size: 2 } })]);
  const use = (nonce: Hex) => ({
    address: settlement.asset,
    topics: [authorizationUsedTopic, encodeAddressTopic(settlement.payer), nonce],
    data: "0x" as const,
  });
  const [movedLog] = receipt().logs;
  if (movedLog === undefined) throw new Error("no transfer");
  const of = (nonce: Hex) => observe({ nextNonce: 6, receipt: receipt({ logs: [use(nonce), movedLog] }) });
  expect(decide(sharedEntry, of(settlement.authorizationNonce), options)).toMatchObject({
    outcome: { state: "settled" },
  });
  expect(decide(sharedEntry, of(`0x${"ee".repeat(32)}`), options)).toEqual({ kind: "diagnose", cause: "reverted" });
});

test("finishes a settlement by the older of its two transactions", () => {
  const replacedEntry = entry([attempt(), attempt({ hash: `0x${"bb".repeat(32)}` })]);
  expect(decide(replacedEntry, observe({ nextNonce: 6, receipt: receipt() }), options)).toMatchObject({
    outcome: { state: "settled", transaction },
  });
});

test("diagnoses a revert, but not while another transaction may settle", () => {
  const revertedReceipt = receipt({ status: 0, logs: [] });
  expect(decide(entry(), observe({ nextNonce: 6, receipt: revertedReceipt }), options)).toEqual({
    kind: "diagnose",
    cause: "reverted",
  });
  const secondEntry = entry([attempt(), attempt({ hash: `0x${"bb".repeat(32)}`, nonce: 6 })]);
  expect(decide(secondEntry, observe({ nextNonce: 6, receipt: revertedReceipt }), options)).toEqual({
    kind: "wait",
  });
});

test("diagnoses failed transactions once each has its confirmations", () => {
  const [older, newer] = [attempt(), attempt({ hash: `0x${"bb".repeat(32)}`, nonce: 4 })];
  const decideAt = (number: number) => {
    const head = { number, timestamp: 0, baseFeePerGas: 1n };
    const receipts = new Map([failIn(100, older), failIn(97, newer)]);
    return decide(entry([older, newer]), observe({ head, nextNonce: 6, receipts }), { ...options, confirmations: 4 });
  };
  expect(decideAt(102)).toEqual({ kind: "wait" });
  expect(decideAt(103)).toEqual({ kind: "diagnose", cause: "reverted" });
});

test("diagnoses a used nonce without a receipt after three seconds", () => {
  const lostSince = (lostSinceMs: number) => entry([attempt()], { sentAtMs: nowMs, lostSinceMs });
  expect(decide(lostSince(nowMs), observe({ nextNonce: 6 }), options)).toEqual({ kind: "wait" });
  expect(decide(lostSince(nowMs - 3_000), observe({ nextNonce: 6 }), options)).toEqual({
    kind: "diagnose",
    cause: "lost",
  });
});

test("repeats an inconclusive diagnosis when due, or immediately for another cause", () => {
  const diagnose = (cause: string, retryAtMs: number) =>
    entry([attempt()], { sentAtMs: nowMs, lostSinceMs: 0, diagnosed: { cause, times: 1, retryAtMs } });
  expect(decide(diagnose("lost", nowMs + 1), observe({ nextNonce: 6 }), options)).toEqual({ kind: "wait" });
  for (const due of [diagnose("lost", nowMs), diagnose("reverted", nowMs + 1)]) {
    expect(decide(due, observe({ nextNonce: 6 }), options)).toEqual({ kind: "diagnose", cause: "lost" });
  }
});

test("diagnoses an expired authorization", () => {
  const late = { number: 100, timestamp: Number(settlement.validBefore) + 31, baseFeePerGas: 1n };
  expect(decide(entry(), observe({ head: late }), options)).toEqual({ kind: "diagnose", cause: "expired" });
});

test("resends a pending transaction every five seconds, and at once after a restart", () => {
  expect(decide(entry(), observe(), options)).toEqual({ kind: "wait" });
  expect(decide(entry([attempt()], { sentAtMs: nowMs - 5_000 }), observe(), options)).toEqual({
    kind: "resend",
  });
  expect(decide(entry([attempt()], {}), observe(), options)).toEqual({ kind: "resend" });
});

test("raises the fee only of the account's next transaction", () => {
  const old = { signedAtMs: sampleMs - 20_000 };
  expect(decide(entry([attempt(old)]), observe(), options)).toEqual({
    kind: "replace",
    nonce: 5,
    resends: false,
  });
  expect(decide(entry([attempt({ ...old, nonce: 6 })]), observe(), options)).toEqual({ kind: "wait" });
  const twenty = Array.from({ length: 20 }, () => attempt(old));
  expect(decide(entry(twenty), observe(), options)).toEqual({ kind: "wait" });
});

test("raises the fee of an older pending transaction if the newest one reverted", () => {
  const filler = attempt({ hash: `0x${"f1".repeat(32)}`, nonce: 4, signedAtMs: sampleMs - 20_000 });
  const revertedReceipt = receipt({ status: 0, logs: [], transactionHash: filler.hash });
  const both = entry([attempt({ signedAtMs: sampleMs - 30_000 }), filler]);
  expect(decide(both, observe({ receipt: revertedReceipt }), options)).toEqual({
    kind: "replace",
    nonce: 5,
    resends: false,
  });
});

test("resends the same bytes at the max fee", () => {
  const atLimit = attempt({ signedAtMs: sampleMs - 20_000, maxFeePerGas: 800_000_001n });
  expect(decide(entry([atLimit]), observe(), options)).toEqual({ kind: "wait" });
  expect(decide(entry([atLimit], { sentAtMs: nowMs - 5_000 }), observe(), options)).toEqual({
    kind: "resend",
  });
  expect(decide(entry([{ ...atLimit, maxFeePerGas: 800_000_000n }]), observe(), options)).toMatchObject({
    kind: "replace",
  });
});

test("replaces and resends an old transaction at the same time", () => {
  const old = attempt({ signedAtMs: sampleMs - 20_000 });
  const replacement = { kind: "replace", nonce: 5, resends: true };
  expect(decide(entry([old], { sentAtMs: nowMs - 5_000 }), observe(), options)).toEqual(replacement);
});

test("resends a removed signer's transaction without a replacement", () => {
  const foreignAttempt = attempt({ signer: `0x${"99".repeat(20)}`, nonce: 2, signedAtMs: 0 });
  expect(decide(entry([foreignAttempt], { sentAtMs: nowMs - 5_000 }), observe(), options)).toEqual({
    kind: "resend",
  });
});

test("waits for settlements that are queued or unsigned", () => {
  expect(decide(entry([attempt()], { queued: true }), observe(), options)).toEqual({ kind: "wait" });
  expect(decide(entry([]), observe(), options)).toEqual({ kind: "wait" });
});
