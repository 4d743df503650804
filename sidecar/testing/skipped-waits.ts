import { afterEach, beforeEach, vi } from "vitest";

/**
 * Makes every wait in a test file return at once, with fake clocks and timers. Not for tests that use a file, a socket or a process: their
 * timeouts would expire before a response arrives.
 */
export function skipWaits(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
    vi.setTimerTickMode("nextTimerAsync");
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}
