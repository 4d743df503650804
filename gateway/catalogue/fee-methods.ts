import type { Method } from "./method.ts";
import { byBlock, defineNodeMethod, perHead } from "./method-parts.ts";

/** Specification, "Standard methods": gas prices and fees. */
export const feeMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_gasPrice",
    summary: "Gas price in Wei",
    params: [],
    result: "quantity",
    cache: perHead,
    costUnits: 10,
  }),
  defineNodeMethod({
    name: "eth_maxPriorityFeePerGas",
    summary: "Priority fee in Wei",
    params: [],
    result: "quantity",
    cache: perHead,
    costUnits: 10,
  }),
  defineNodeMethod({
    name: "eth_feeHistory",
    summary: "Base fees, gas used and rewards of past blocks",
    params: [
      { name: "blockCount", shape: "quantity" },
      { name: "newestBlock", shape: "block" },
      { name: "rewardPercentiles", shape: "percentiles" },
    ],
    result: "fee history object",
    cache: byBlock(1),
    costUnits: 20,
  }),
];
