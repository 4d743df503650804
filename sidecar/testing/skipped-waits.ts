import { afterEach, beforeEach, vi } from "vitest";

/**
 * For tests of what does nothing but wait: before each the clocks and timers of this process become ones that go to the end of a
 * wait at once. Not with a file, a socket or a process, whose time would seem to be over before they answer.
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
