import type { Hex } from "viem";
import { z } from "zod";
import { resolveNumber } from "../block-reader.ts";
import type { Node } from "../method.ts";
import { address, blockNumberOrTag, quantity, readParams } from "../params.ts";
import { errorCode, RpcError } from "../rpc-error.ts";

const addressesMax = 1_000;
const amount = z.union([z.int().nonnegative(), quantity.transform(Number)], {
  error: "expected a number, not negative",
});

/** Specification, "JSON-RPC objects with known fields". */
const filterSchema = z.strictObject({
  fromBlock: blockNumberOrTag.nullish(),
  toBlock: blockNumberOrTag.nullish(),
  fromAddress: z.array(address).max(addressesMax).nullish(),
  toAddress: z.array(address).max(addressesMax).nullish(),
  count: amount.nullish(),
  after: amount.nullish(),
  mode: z.enum(["union", "intersection"]).nullish(),
});

/** Blocks that anvil searches in one call (it allows 300). */
const blocksPerCall = 250;

/**
 * Lists the traces in a block range that come from one of `fromAddress` or go to one of `toAddress`; depending on `mode`, both conditions
 * must hold (reth's and anvil's interpretation). Skips the first `after` traces and returns at most `count`. A range without a start begins
 * at block 0, as in reth.
 */
export async function respondToTraceFilter(node: Node, params: readonly unknown[]): Promise<readonly unknown[]> {
  const [filter] = readParams([filterSchema], params);
  const first = await resolveNumber(node, filter.fromBlock ?? "earliest");
  const head = await resolveNumber(node, "latest");
  const last = Math.min(await resolveNumber(node, filter.toBlock ?? "latest"), head);
  if (first > last && last < head) throw new RpcError(errorCode.invalidParams, "invalid block range params");
  const wanted = filter.count ?? Number.POSITIVE_INFINITY;
  const found: unknown[] = [];
  let skip = filter.after ?? 0;
  for (let from = first; from <= last && found.length < wanted; from += blocksPerCall) {
    const traces = await requestTraces(node, from, Math.min(from + blocksPerCall - 1, last), filter);
    for (const trace of traces.slice(skip)) {
      if (found.length < wanted) found.push(trace);
    }
    skip = Math.max(0, skip - traces.length);
  }
  return found;
}

type Filter = z.output<typeof filterSchema>;

async function requestTraces(node: Node, from: number, to: number, filter: Filter): Promise<readonly unknown[]> {
  return node.anvil.request<readonly unknown[]>("trace_filter", [
    {
      fromBlock: toHex(from),
      toBlock: toHex(to),
      fromAddress: filter.fromAddress ?? [],
      toAddress: filter.toAddress ?? [],
      mode: filter.mode ?? "union",
    },
  ]);
}

function toHex(value: number): Hex {
  return `0x${value.toString(16)}`;
}
