import { parseGwei } from "viem";
import { expect, test } from "vitest";
import { createFeeQuotes, raiseFees } from "./fees.ts";
import type { Chain } from "./chain.ts";

function quotesFor(baseFeePerGas: bigint | undefined, tip: bigint, maxFeePerGasGwei: number) {
  let asked = 0;
  let nowMs = 0;
  const head = { number: 1, timestamp: 1, ...(baseFeePerGas === undefined ? {} : { baseFeePerGas }) };
  const chain = {
    head: async () => {
      asked += 1;
      return head;
    },
    priorityFee: async () => tip,
  } as Partial<Chain> as Chain;
  const quotes = createFeeQuotes({ maxFeePerGasGwei }, { chain, monotonicMs: () => nowMs });
  return { quotes, asked: () => asked, pass: (ms: number) => (nowMs += ms) };
}

test("a quote leaves room for the base fee to double", async () => {
  const { quotes } = quotesFor(parseGwei("10"), parseGwei("1"), 500);
  expect(await quotes.quote()).toEqual({ maxFeePerGas: parseGwei("21"), maxPriorityFeePerGas: parseGwei("1") });
});

test("a quote is used for a moment and then requested again", async () => {
  const { quotes, asked, pass } = quotesFor(1n, 1n, 500);
  await quotes.quote();
  pass(1_999);
  await quotes.quote();
  expect(asked()).toBe(1);
  pass(1);
  await quotes.quote();
  expect(asked()).toBe(2);
});

test("the limit caps the quote, and refuses when the chain asks more", async () => {
  expect(await quotesFor(parseGwei("10"), parseGwei("1"), 15).quotes.quote()).toMatchObject({
    maxFeePerGas: parseGwei("15"),
  });
  await expect(quotesFor(parseGwei("10"), parseGwei("1"), 10.5).quotes.quote()).rejects.toThrow(
    "the chain charges 11 gwei for gas, settlement.maxFeePerGasGwei allows 10.5",
  );
});

test("a chain before EIP-1559 is an error, not a wrong price", async () => {
  await expect(quotesFor(undefined, 1n, 500).quotes.quote()).rejects.toThrow(/no baseFeePerGas/);
});

test("a replacement raises both fees by the percentage, rounded up, or to what the chain asks", () => {
  const before = { maxFeePerGas: 101n, maxPriorityFeePerGas: 3n };
  const limit = 1_000n;
  expect(raiseFees(before, { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }, { percent: 25, limit })).toEqual({
    maxFeePerGas: 127n,
    maxPriorityFeePerGas: 4n,
  });
  expect(raiseFees(before, { maxFeePerGas: 500n, maxPriorityFeePerGas: 9n }, { percent: 25, limit })).toEqual({
    maxFeePerGas: 500n,
    maxPriorityFeePerGas: 9n,
  });
  expect(raiseFees(before, before, { percent: 25, limit: 110n })).toBeUndefined();
});
