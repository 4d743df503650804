import { setTimeout as wait } from "node:timers/promises";

/** Waits, but no longer than until `signal` aborts; leaves no listener on it. Keeps no process alive. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { ref: false, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
