import type { HeldBytes } from "#daemon/memory/connection-memory.ts";

/** Memory without a bound, for what is tested by itself. */
export const roomyMemory: HeldBytes = { hold: () => true, tryAcquire: () => true, release: () => undefined };
