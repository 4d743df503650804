import { afterEach, beforeEach, vi } from "vitest";

/**
 * Has every wait of a file's tests end at once, by fake clocks and timers. Not for tests with a file, a socket or a process, whose time
 * would seem to be over before they answer.
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
