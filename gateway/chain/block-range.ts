import { rangeTooLarge, type RpcError } from "../errors.ts";
import type { ChainHead } from "./chain-head.ts";

/** A range bound as a client may write it; the method defines the default for an absent bound. */
export type BlockBound = bigint | "latest" | "earliest" | "safe" | "finalized";

/** An inclusive block range. */
export type BlockRange = Readonly<{ from: bigint; to: bigint }>;

/** Parses a bound: a tag or a hexadecimal number of at most 64 bits. Returns undefined if the value is neither. */
export function readBound(value: unknown): BlockBound | undefined {
  if (typeof value !== "string") return undefined;
  if (value === "latest" || value === "earliest" || value === "safe" || value === "finalized") return value;
  return /^0x(0|[1-9a-f][0-9a-f]{0,15})$/i.test(value) ? BigInt(value) : undefined;
}

/** Resolves bounds to block numbers against this head. If the number for a tag is unknown, the widest possible range is assumed, so that no cap is evaded. */
export function resolveRange(from: BlockBound, to: BlockBound, head: ChainHead): BlockRange {
  return { from: resolveBound(from, head, head.finalized ?? 0n), to: resolveBound(to, head, head.latest) };
}

function resolveBound(bound: BlockBound, head: ChainHead, safe: bigint): bigint {
  if (typeof bound === "bigint") return bound;
  if (bound === "earliest") return 0n;
  if (bound === "latest") return head.latest;
  return bound === "safe" ? safe : (head.finalized ?? safe);
}

/** Builds the error for a range above its cap, in the wording from which clients parse the permitted range. */
export function rangeAboveCap(range: BlockRange, capBlocks: number): RpcError {
  const blocks = range.to - range.from + 1n;
  const permitted = `[${formatQuantity(range.from)}, ${formatQuantity(range.from + BigInt(capBlocks) - 1n)}]`;
  return rangeTooLarge({ blocks, capBlocks, permitted });
}

/** Formats a number as a JSON-RPC quantity. */
export function formatQuantity(number: bigint): string {
  return `0x${number.toString(16)}`;
}

/** Splits a range into pieces of at most `capBlocks` blocks, in order. */
export function splitRange(range: BlockRange, capBlocks: number): readonly BlockRange[] {
  const result: BlockRange[] = [];
  const step = BigInt(capBlocks);
  for (let from = range.from; from <= range.to; from += step) {
    const last = from + step - 1n;
    result.push({ from, to: last < range.to ? last : range.to });
  }
  return result;
}
