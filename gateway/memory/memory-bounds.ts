import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import type { MemoryBudgetOptions } from "./memory-budget.ts";

/** The settings, each with a default that follows from the machine. */
export type MemorySettings = Readonly<{
  totalBytes?: number | undefined;
  addressBytes?: number | undefined;
  connectionBytes?: number | undefined;
}>;

/** What the process may use: of the machine or the container, and of its own heap. */
export type MemoryLimits = Readonly<{ processBytes: number; heapBytes: number }>;

const mostBytes = 1_073_741_824;

/** The limits of this process. */
export function memoryLimits(): MemoryLimits {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return {
    // Without a limit of its control group it is 0, or more than any machine has.
    processBytes: constrained > 0 ? Math.min(constrained, total) : total,
    heapBytes: getHeapStatistics().heap_size_limit,
  };
}

/**
 * The bounds of what is held for clients. Held bytes may stand in memory twice for a moment, as bytes and as text in the heap, and the rest of
 * the process takes about 130 MiB: a quarter of 512 MiB, and of the heap, leaves room for all three.
 */
export function memoryBounds(settings: MemorySettings, limits: MemoryLimits): MemoryBudgetOptions {
  const whole = Math.floor(Math.min(limits.processBytes / 4, limits.heapBytes / 4, mostBytes));
  const totalBytes = settings.totalBytes ?? whole;
  return {
    totalBytes,
    addressBytes: settings.addressBytes ?? Math.floor(totalBytes / 2),
    connectionBytes: settings.connectionBytes ?? Math.floor(totalBytes / 4),
  };
}
