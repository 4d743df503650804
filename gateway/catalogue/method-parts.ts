import type { CacheRule, Method, Param } from "./method.ts";

/** Parameters, cache rules and defaults that the method tables share. */

export const account: Param = { name: "address", shape: "address" };
export const block: Param = { name: "block", shape: "block" };
export const optionalBlock: Param = { name: "block", shape: "block", optional: true };
export const blockHash: Param = { name: "blockHash", shape: "blockHash" };
export const blockNumberOrHash: Param = { name: "block", shape: "blockNumberOrHash" };
export const callObject: Param = { name: "call", shape: "callObject" };
export const fullTransactions: Param = { name: "fullTransactions", shape: "boolean" };
export const index: Param = { name: "index", shape: "quantity" };
export const transactionHash: Param = { name: "transactionHash", shape: "hash" };
export const tracerOptions: Param = { name: "options", shape: "tracerOptions", optional: true };

export const never: CacheRule = { kind: "none" };
export const perHead: CacheRule = { kind: "head" };
export const byHash: CacheRule = { kind: "hash" };
export const whileConnected: CacheRule = { kind: "constant" };

/** Returns the cache rule of a method whose parameter at `at` is a block. */
export function byBlock(at: number): CacheRule {
  return { kind: "block", at };
}

/** Most bytes of parameters: of calls with data (a contract's code, many calls in one, state overrides), of lists, of an unknown method. */
export const dataParamsBytes = 524_288;
export const listParamsBytes = 131_072;
export const unknownParamsBytes = 65_536;
/** The same for a method whose parameters are searched for a tracer. */
export const searchedParamsBytes = 16_384;

/**
 * How often the gas of a traced call counts. The trace has what each call within it takes and returns: where those are long, a node is busy with them for
 * many times what the call alone takes (`npm run bench:gateway -- --only node`).
 */
export const tracedTimes = 5;

type Given = Pick<Method, "name" | "summary" | "params" | "result" | "cache" | "costUnits"> & Partial<Method>;

/** Defines a method that the node answers; public, repeatable and with 10 seconds unless it says otherwise. */
export function defineNodeMethod(given: Given): Method {
  return { audience: "public", answeredBy: "node", timeoutMs: 10_000, repeatable: true, ...given };
}
