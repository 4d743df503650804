import { parseGwei } from "viem";
import { expect, test } from "vitest";
import { createFeeQuotes, raiseFees } from "./fees.ts";
import type { Chain } from "./chain.ts";

function quotesFor(baseFeePerGas: bigint | undefined, tip: bigint, maxFeePerGasGwei: number) {
  let quotesRequested = 0;
  let nowMs = 0;
  const head = { number: 1, timestamp: 1, ...(baseFeePerGas === undefined ? {} : { baseFeePerGas }) };
  const chain = {
    head: async () => {
      quotesRequested += 1;
      return head;
    },
    priorityFee: async () => tip,
  } as Partial<Chain> as Chain;
  const quotes = createFeeQuotes({ maxFeePerGasGwei }, { chain, monotonicMs: () => nowMs });
  return { quotes, quotesRequested: () => quotesRequested, pass: (ms: number) => (nowMs += ms) };
}

test("quotes twice the base fee plus the tip", async () => {
  const { quotes } = quotesFor(parseGwei("10"), parseGwei("1"), 500);
  expect(await quotes.quote()).toEqual({ maxFeePerGas: parseGwei("21"), maxPriorityFeePerGas: parseGwei("1") });
});

test("caches a quote for two seconds", async () => {
  const { quotes, quotesRequested, pass } = quotesFor(1n, 1n, 500);
  await quotes.quote();
  pass(1_999);
  await quotes.quote();
  expect(quotesRequested()).toBe(1);
  pass(1);
  await quotes.quote();
  expect(quotesRequested()).toBe(2);
});

test("caps a quote at the limit, and throws if the chain charges more", async () => {
  expect(await quotesFor(parseGwei("10"), parseGwei("1"), 15).quotes.quote()).toMatchObject({
    maxFeePerGas: parseGwei("15"),
  });
  await expect(quotesFor(parseGwei("10"), parseGwei("1"), 10.5).quotes.quote()).rejects.toThrow(
    "the chain charges 11 gwei for gas, but settlement.maxFeePerGasGwei allows 10.5",
  );
  // JavaScript writes this number as 5e-7.
  expect(await quotesFor(300n, 1n, 0.0000005).quotes.quote()).toMatchObject({ maxFeePerGas: 500n });
});

test("throws for a chain without EIP-1559", async () => {
  await expect(quotesFor(undefined, 1n, 500).quotes.quote()).rejects.toThrow(/no baseFeePerGas/);
});

test("raises both fees by the percentage or to the chain's current fees", () => {
  const previousFees = { maxFeePerGas: 101n, maxPriorityFeePerGas: 3n };
  const limit = 1_000n;
  expect(raiseFees(previousFees, { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }, { percent: 25, limit })).toEqual({
    maxFeePerGas: 127n,
    maxPriorityFeePerGas: 4n,
  });
  expect(raiseFees(previousFees, { maxFeePerGas: 500n, maxPriorityFeePerGas: 9n }, { percent: 25, limit })).toEqual({
    maxFeePerGas: 500n,
    maxPriorityFeePerGas: 9n,
  });
  expect(raiseFees(previousFees, previousFees, { percent: 25, limit: 110n })).toBeUndefined();
});
