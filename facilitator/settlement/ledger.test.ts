import { expect, test } from "vitest";
import { openLedger, type Ledger } from "./ledger.ts";
import type { Attempt, Settlement } from "./settlement.ts";

const settlement: Settlement = {
  id: `0x${"1d".repeat(32)}`,
  asset: `0x${"a5".repeat(20)}`,
  payer: `0x${"01".repeat(20)}`,
  payTo: `0x${"02".repeat(20)}`,
  amount: 2n ** 200n,
  authorizationNonce: `0x${"0c".repeat(32)}`,
  validBefore: 2n ** 256n - 1n,
  callData: "0xe3ee160e",
};

const attempt: Attempt = {
  hash: `0x${"aa".repeat(32)}`,
  signer: `0x${"51".repeat(20)}`,
  nonce: 5,
  rawTransaction: "0x02aa",
  maxFeePerGas: 2n ** 64n,
  maxPriorityFeePerGas: 1n,
  signedAtMs: 1_000,
};

function open(): Ledger {
  return openLedger({ path: ":memory:", chainId: 1672 }, { clock: () => 1_000 });
}

test("what was begun is read back as it was, with its transactions in order", () => {
  using ledger = open();
  const second = { ...attempt, hash: `0x${"bb".repeat(32)}`, maxFeePerGas: 3n } as const;
  ledger.begin([{ settlement, attempt }]);
  ledger.begin([{ settlement, attempt: second }]);
  expect(ledger.unfinished()).toEqual([{ settlement, attempts: [attempt, second] }]);
  expect(ledger.outcome(settlement.id)).toBeUndefined();
});

test("an outcome is final and takes the settlement out of what is unfinished", () => {
  using ledger = open();
  ledger.begin([{ settlement, attempt }]);
  ledger.finish(new Map([[settlement.id, { state: "settled", transaction: attempt.hash }]]));
  expect(ledger.unfinished()).toEqual([]);
  expect(ledger.outcome(settlement.id)).toEqual({ state: "settled", transaction: attempt.hash });
});

test("another payment with the same authorization nonce is a rival until the first has failed", () => {
  using ledger = open();
  const rival = { ...settlement, id: `0x${"2e".repeat(32)}`, payer: settlement.payer } as const;
  expect(ledger.hasRival(rival)).toBe(false);
  ledger.begin([{ settlement, attempt }]);
  expect(ledger.hasRival(rival)).toBe(true);
  expect(ledger.hasRival(settlement), "no rival of itself").toBe(false);
  expect(() => ledger.begin([{ settlement: rival, attempt: { ...attempt, hash: "0xbb" } }])).toThrow(/UNIQUE/);
  const failed = {
    state: "failed",
    transaction: attempt.hash,
    reason: "invalid_exact_evm_transaction_failed",
    message: "m",
  } as const;
  ledger.finish(new Map([[settlement.id, failed]]));
  expect(ledger.outcome(settlement.id)).toEqual(failed);
  expect(ledger.hasRival(rival)).toBe(false);
});

test("a batch is noted as a whole or not at all", () => {
  using ledger = open();
  const other = { ...settlement, id: `0x${"2e".repeat(32)}`, authorizationNonce: `0x${"0d".repeat(32)}` } as const;
  const begun = [
    { settlement, attempt },
    { settlement: other, attempt },
  ];
  expect(() => ledger.begin(begun)).toThrow(/UNIQUE/);
  expect(ledger.unfinished()).toEqual([]);
});

test("withdrawing the only transaction forgets the settlement, withdrawing one of two does not", () => {
  using ledger = open();
  const second = { ...attempt, hash: `0x${"bb".repeat(32)}` } as const;
  ledger.begin([{ settlement, attempt }]);
  ledger.begin([{ settlement, attempt: second }]);
  ledger.withdraw(second);
  expect(ledger.unfinished()).toEqual([{ settlement, attempts: [attempt] }]);
  ledger.withdraw(attempt);
  expect(ledger.unfinished()).toEqual([]);
});

test("only what was finished long ago is forgotten", () => {
  using ledger = open();
  ledger.begin([{ settlement, attempt }]);
  expect(ledger.prune(5_000)).toBe(0);
  ledger.finish(new Map([[settlement.id, { state: "settled", transaction: attempt.hash }]]));
  expect(ledger.prune(1_000)).toBe(0);
  expect(ledger.prune(1_001)).toBe(1);
  expect(ledger.outcome(settlement.id)).toBeUndefined();
});
