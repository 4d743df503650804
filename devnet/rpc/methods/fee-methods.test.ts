import { expect, test } from "vitest";
import { computeNextBaseFee, computeRewards } from "./fee-methods.ts";

const gasLimit = "0x1c9c380";

test("the base fee moves by an eighth at most (EIP-1559)", () => {
  const baseFeePerGas = "0x3b9aca00";
  expect(computeNextBaseFee({ baseFeePerGas, gasLimit, gasUsed: "0x0" })).toBe(875_000_000n);
  expect(computeNextBaseFee({ baseFeePerGas, gasLimit, gasUsed: gasLimit })).toBe(1_125_000_000n);
  expect(computeNextBaseFee({ baseFeePerGas, gasLimit, gasUsed: "0xe4e1c0" })).toBe(1_000_000_000n);
  expect(computeNextBaseFee({ baseFeePerGas: "0x1", gasLimit, gasUsed: gasLimit })).toBe(2n);
});

test("rewards are the tips at percentiles of the gas used", () => {
  const block = { baseFeePerGas: "0xa", gasUsed: "0x64" } as const;
  const receipts = [
    { effectiveGasPrice: "0x1e", gasUsed: "0x32" },
    { effectiveGasPrice: "0xb", gasUsed: "0x32" },
  ] as const;
  expect(computeRewards([0, 50, 51, 100], receipts, block)).toEqual(["0x1", "0x1", "0x14", "0x14"]);
  expect(computeRewards([50], [], block)).toEqual(["0x0"]);
});
