import type { Method } from "./method.ts";
import { block, byBlock, callObject, dataParamsBytes, defineNodeMethod, optionalBlock } from "./method-parts.ts";

/** Specification, "Standard methods": calls that the node executes without changing its state. */
export const executeMethods: readonly Method[] = [
  defineNodeMethod({
    name: "eth_call",
    summary: "Result of a call without state changes",
    params: [callObject, block],
    result: "data",
    limit: { kind: "gas" },
    cache: byBlock(1),
    paramsBytes: dataParamsBytes,
    costUnits: 26,
  }),
  defineNodeMethod({
    name: "eth_estimateGas",
    summary: "Gas required by a call",
    params: [callObject, optionalBlock],
    result: "quantity",
    limit: { kind: "gas" },
    cache: byBlock(1),
    paramsBytes: dataParamsBytes,
    costUnits: 40,
  }),
  defineNodeMethod({
    name: "eth_createAccessList",
    summary: "Access list and gas of a call (EIP-2930)",
    params: [callObject, block],
    result: "access list result",
    limit: { kind: "gas", isRepeated: true },
    cache: byBlock(1),
    paramsBytes: dataParamsBytes,
    costUnits: 40,
    // geth bounds an eth_call to 5 s (--rpc.evmtimeout), and this method not at all.
    timeoutMs: 5_000,
  }),
];
