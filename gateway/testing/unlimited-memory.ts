import type { HeldBytes } from "#daemon/memory/connection-memory.ts";

/** Unlimited memory, for unit tests. */
export const roomyMemory: HeldBytes = { hold: () => true, tryAcquire: () => true, release: () => undefined };
