import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { serializeNotification, type Notification } from "./notification.ts";
import { HeadTracker } from "../chain/chain-head.ts";
import { startHeadWatch } from "./head-watch.ts";

const block = (number: number) => `{"number":"0x${number.toString(16)}","hash":"0x${number}"}`;

/** A watch on a node whose head the test sets; undefined: the node does not respond. */
async function startWatch() {
  const state = {
    number: 1 as number | undefined,
    resets: 0,
    returns: 0,
    notify: undefined as ((notification: Notification) => void) | undefined,
  };
  const watch = startHeadWatch(
    { pollIntervalMs: 500 },
    {
      requestNode: async () => (state.number === undefined ? undefined : block(state.number)),
      hub: {
        subscribe: async (_, { notify }) => {
          state.notify = notify;
          return { kind: "subscribed", unsubscribe: () => undefined };
        },
      },
      head: new HeadTracker({ staleAfterMs: 30_000 }, { now: () => performance.now(), wallClock: Date.now }),
      resetLink: () => (state.resets += 1),
      returned: () => (state.returns += 1),
    },
  );
  // The first poll ends before the node's WebSocket is open.
  await vi.advanceTimersByTimeAsync(0);
  return { state, watch };
}

describe("the head watch", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("resets a subscription that misses heads, however slowly they arrive", async () => {
    const { state, watch } = await startWatch();
    using _ = watch;
    watch.linkOpened();
    await vi.advanceTimersByTimeAsync(100);
    for (const number of [2, 3, 4]) {
      expect(state.resets).toBe(0);
      state.number = number;
      await vi.advanceTimersByTimeAsync(12_000);
    }
    expect(state.resets).toBe(1);
  });

  it("keeps a subscription whose heads are merely late", async () => {
    const { state, watch } = await startWatch();
    using _ = watch;
    watch.linkOpened();
    await vi.advanceTimersByTimeAsync(100);
    for (const number of [2, 3, 4, 5, 6]) {
      state.number = number;
      await vi.advanceTimersByTimeAsync(6_000);
      state.notify?.(serializeNotification(block(number)));
    }
    expect(state.resets).toBe(0);
  });

  it("reports a recovered node even if only a request showed the outage", async () => {
    const { state, watch } = await startWatch();
    using _ = watch;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(state.returns).toBe(0);
    state.number = undefined;
    await vi.advanceTimersByTimeAsync(2_000);
    state.number = 1;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(state.returns).toBe(1);
  });
});
