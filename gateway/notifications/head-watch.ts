import type { HeadTracker } from "../chain/chain-head.ts";
import type { NodeRequest } from "../upstream/request-node.ts";
import { readBlock, requestBlock } from "./recent-blocks.ts";
import type { SubscriptionHub } from "./subscription-hub.ts";

/** How long the newHeads subscription must be silent before the head is also polled. */
const silentAfterMs = 2_000;
/** Number of consecutive heads found by polling at which the subscription counts as stalled. */
const missedHeads = 3;

/** Tracks the node's head through one newHeads subscription, and by polling while there is none or it is silent. */
export type HeadWatch = Disposable & Readonly<{ linkOpened: () => void; linkLost: () => void }>;

export type HeadWatchDependencies = Readonly<{
  requestNode: NodeRequest;
  hub: Pick<SubscriptionHub, "subscribe">;
  head: HeadTracker;
  /** Called when the subscription is open but misses heads. */
  resetLink: () => void;
  /** Called when the node responds again after an outage, if no connection shows that it is the same node. */
  returned: () => void;
}>;

export function startHeadWatch(
  { pollIntervalMs }: Readonly<{ pollIntervalMs: number }>,
  { requestNode, hub, head, resetLink, returned }: HeadWatchDependencies,
): HeadWatch {
  const state = { missed: 0, isAway: false, isQuerying: false, finalizedFor: -1 };

  const finalize = async () => {
    const generation = head.generation();
    if (state.finalizedFor === generation || head.known() === undefined) return;
    state.finalizedFor = generation;
    const block = await requestBlock("finalized", requestNode);
    if (block !== undefined) head.finalize(block.number);
  };
  const poll = async () => {
    if (heads.entryExists() && head.ageMs() < silentAfterMs) {
      await finalize();
      return;
    }
    const generationBefore = head.generation();
    const block = await requestBlock("latest", requestNode);
    if (block === undefined) {
      state.isAway = !heads.entryExists();
      return;
    }
    if (state.isAway) returned();
    state.isAway = false;
    head.advance(block);
    if (heads.entryExists() && head.generation() !== generationBefore) state.missed += 1;
    if (state.missed >= missedHeads) {
      state.missed = 0;
      resetLink();
    }
    await finalize();
  };
  const pollNow = () => {
    if (state.isQuerying) return;
    state.isQuerying = true;
    const over = () => void (state.isQuerying = false);
    poll().then(over, over);
  };
  const notify = (result: string) => {
    const block = readBlock(result);
    state.missed = 0;
    if (block !== undefined) head.advance(block);
  };
  const heads = followHeads(hub, notify);
  const timer = setInterval(pollNow, pollIntervalMs);
  pollNow();
  return {
    linkOpened: () => {
      // From now on, an outage shows as a lost connection.
      state.isAway = false;
      heads.linkOpened();
    },
    linkLost: () => {
      heads.linkLost();
      state.missed = 0;
      head.reset();
      pollNow();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** The gateway's own newHeads subscription. */
export type HeadsSubscription = Readonly<{ linkOpened: () => void; linkLost: () => void; entryExists: () => boolean }>;

/** Subscribes to heads while there is a connection, and again if the hub, which bridges gaps, closed its subscribers. */
function followHeads(hub: Pick<SubscriptionHub, "subscribe">, notify: (result: string) => void): HeadsSubscription {
  const state = { isOpen: false, isSubscribed: false, entryExists: false };
  const lost = () => {
    state.isSubscribed = false;
    state.entryExists = false;
    if (state.isOpen) void subscribe();
  };
  const subscribe = async () => {
    if (!state.isSubscribed) {
      state.isSubscribed = true;
      const { kind } = await hub.subscribe('["newHeads"]', {
        caller: undefined,
        notify: ({ result }) => notify(result),
        lost,
      });
      state.isSubscribed = kind === "subscribed";
    }
    state.entryExists = state.isSubscribed && state.isOpen;
  };
  return {
    linkOpened: () => {
      state.isOpen = true;
      void subscribe();
    },
    linkLost: () => {
      state.isOpen = false;
      state.entryExists = false;
    },
    entryExists: () => state.entryExists,
  };
}
