import type { CacheRule, Method, Param } from "./method.ts";

/** Parameters, cache rules and defaults shared by the method tables. */

export const account: Param = { name: "address", shape: "address" };
export const block: Param = { name: "block", shape: "block" };
export const optionalBlock: Param = { name: "block", shape: "block", optional: true };
export const blockHash: Param = { name: "blockHash", shape: "blockHash" };
export const blockNumberOrHash: Param = { name: "block", shape: "blockNumberOrHash" };
export const callObject: Param = { name: "call", shape: "callObject" };
export const fullTransactions: Param = { name: "fullTransactions", shape: "boolean" };
export const indexParam: Param = { name: "index", shape: "quantity" };
export const transactionHash: Param = { name: "transactionHash", shape: "hash" };
export const tracerOptions: Param = { name: "options", shape: "tracerOptions", optional: true };

export const never: CacheRule = { kind: "none" };
export const perHead: CacheRule = { kind: "head" };
export const byHash: CacheRule = { kind: "hash" };
export const whileConnected: CacheRule = { kind: "constant" };

/** Returns the cache rule for a method whose parameter at index `at` is a block. */
export function byBlock(at: number): CacheRule {
  return { kind: "block", at };
}

/** Max size of parameters, in bytes, for calls with data (contract code, multicalls, state overrides), for lists, and for unknown methods. */
export const dataParamsBytes = 524_288;
export const listParamsBytes = 131_072;
export const unknownParamsBytes = 65_536;
/** Max size of parameters, in bytes, for methods whose parameters are searched for a tracer. */
export const searchedParamsBytes = 16_384;

/**
 * Factor applied to the gas of a traced call and of an access list. A trace contains the input and output of each inner call, and an access
 * list is found by running the call until the list no longer changes: the node may spend many times the CPU of the call itself
 * (`npm run bench:gateway -- --only node`).
 */
export const tracingGasFactor = 5;

type Given = Pick<Method, "name" | "summary" | "params" | "result" | "cache" | "costUnits"> & Partial<Method>;

/** Defines a method that the node answers; by default it is public and repeatable, with a 10-second timeout. */
export function defineNodeMethod(given: Given): Method {
  return { audience: "public", answeredBy: "node", timeoutMs: 10_000, repeatable: true, ...given };
}
