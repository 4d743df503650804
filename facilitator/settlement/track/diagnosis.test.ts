import { expect, test } from "vitest";
import type { Receipt } from "../../chain/chain.ts";
import { createGasLimits } from "../../chain/gas-limits.ts";
import type { Hex } from "#x402/hex.ts";
import { encodeSample, sampleAttempt, sampleSettlement } from "../../testing/sample-settlement.ts";
import type { SettlementContext } from "../context.ts";
import { createInFlightSettlements } from "../settlement.ts";
import { computeGasCost } from "../../chain/gas-limits.ts";
import { ranOutOfGas } from "./diagnosis.ts";

/** A transaction with a gas limit of `limit`; it is mined if it used any gas. */
type SentTransaction = Readonly<{ limit: bigint; used?: bigint; price?: bigint }>;

const gas = createGasLimits(
  { gasLimit: 200_000, gasMarginPercent: 20, entriesMax: 1 },
  { signer: sampleAttempt.signer, monotonicMs: () => 0 },
);
const buildHash = (at: number): Hex => `0x${String(at).repeat(64)}`;

function settle(sent: readonly SentTransaction[]) {
  const attempts = sent.map(
    ({ limit }, at) => ({ ...sampleAttempt, hash: buildHash(at), rawTransaction: encodeSample(limit) }) as const,
  );
  const receipts = sent.flatMap(({ used, price }, at): [Hex, Receipt][] =>
    used === undefined
      ? []
      : [
          [
            buildHash(at),
            {
              status: 0,
              blockNumber: 1,
              transactionHash: buildHash(at),
              logs: [],
              gasUsed: used,
              effectiveGasPrice: price,
            },
          ],
        ],
  );
  const book = createInFlightSettlements({ clock: Date.now, monotonicMs: () => 0 });
  return { entry: book.add(sampleSettlement, attempts), receipts: new Map(receipts) };
}

test.each<[string, readonly SentTransaction[], boolean, boolean]>([
  ["that used all its gas", [{ limit: 78_000n, used: 78_000n }], true, true],
  ["whose outer contracts retained some gas", [{ limit: 78_000n, used: 75_600n }], true, true],
  ["that used half its gas", [{ limit: 78_000n, used: 39_000n }], true, false],
  ["that the token would now reject", [{ limit: 78_000n, used: 78_000n }], false, false],
  ["that had the max gas", [{ limit: 200_000n, used: 200_000n }], true, false],
  [
    "whose second transaction had the max gas",
    [
      { limit: 78_000n, used: 78_000n },
      { limit: 200_000n, used: 200_000n },
    ],
    true,
    false,
  ],
  [
    "whose second transaction, with the max gas, was lost",
    [{ limit: 78_000n, used: 78_000n }, { limit: 200_000n }],
    true,
    true,
  ],
])("detects whether a reverted settlement %s ran out of gas", async (_, sent, isTakenNow, lacked) => {
  const { entry, receipts } = settle(sent);
  const response = isTakenNow ? { ok: true, result: "0xfec8" } : { ok: false, error: { code: 3, message: "reverted" } };
  const context = { chain: { estimateGas: async () => response }, gas } as unknown as SettlementContext;
  expect(await ranOutOfGas(entry, receipts, context)).toBe(lacked);
});

test("computes the gas cost of mined transactions, by limit or by gas used", () => {
  const sent = [
    { limit: 78_000n, used: 70_000n, price: 3n },
    { limit: 100_000n },
    { limit: 200_000n, used: 65_000n, price: 5n },
  ];
  const { entry, receipts } = settle(sent);
  expect(computeGasCost(entry.attempts, receipts, { chargesGasLimit: true })).toBe(78_000n * 3n + 200_000n * 5n);
  expect(computeGasCost(entry.attempts, receipts, { chargesGasLimit: false })).toBe(70_000n * 3n + 65_000n * 5n);
});

test("splits a batch's gas cost into shares that add up", () => {
  const { entry, receipts } = settle([{ limit: 100_000n, used: 90_000n, price: 7n }]);
  const parts = [0, 1, 2].map((index) => {
    const attempts = entry.attempts.map((attempt) => ({ ...attempt, batch: { index, size: 3 } }));
    return computeGasCost(attempts, receipts, { chargesGasLimit: true });
  });
  expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(700_000n);
  expect(parts).toEqual([233_333n, 233_333n, 233_334n]);
});
