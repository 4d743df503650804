import { deriveMemoryBounds, type MemoryBudgetOptions, type MemoryLimits } from "#daemon/memory/memory-budget.ts";
import type { ResourceServerSettings } from "./settings.ts";

type SizeSettings = Pick<ResourceServerSettings, "memory"> &
  Readonly<{
    upstream: Pick<ResourceServerSettings["upstream"], "responseLimitBytes">;
    listen: Pick<ResourceServerSettings["listen"], "bodyLimitBytes">;
  }>;

/** Derives the memory limits for buffered requests and responses. Even the min limit fits the largest of both, so that it can be sold. */
export function deriveResponseBounds(
  { memory, upstream, listen }: SizeSettings,
  limits: MemoryLimits,
): MemoryBudgetOptions {
  const saleBytes = upstream.responseLimitBytes + listen.bodyLimitBytes;
  const derived = deriveMemoryBounds(memory, limits);
  return {
    totalBytes: Math.max(derived.totalBytes, saleBytes),
    addressBytes: Math.max(derived.addressBytes, saleBytes),
    connectionBytes: saleBytes,
  };
}
