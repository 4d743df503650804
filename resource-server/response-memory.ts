import { deriveMemoryBounds, type MemoryBudgetOptions, type MemoryLimits } from "#daemon/memory/memory-budget.ts";
import type { ResourceServerSettings } from "./settings.ts";

/** Derives the bounds of responses held for clients. Even the smallest holds one response of the largest size, so that it can be sold. */
export function deriveResponseBounds(
  { memory, upstream }: Pick<ResourceServerSettings, "memory" | "upstream">,
  limits: MemoryLimits,
): MemoryBudgetOptions {
  const { responseLimitBytes } = upstream;
  const derived = deriveMemoryBounds(memory, limits);
  return {
    totalBytes: Math.max(derived.totalBytes, responseLimitBytes),
    addressBytes: Math.max(derived.addressBytes, responseLimitBytes),
    connectionBytes: responseLimitBytes,
  };
}
