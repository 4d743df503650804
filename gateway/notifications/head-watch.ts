import type { Head } from "../chain/head.ts";
import { readBlock } from "./recent-blocks.ts";
import type { SubscriptionHub } from "./subscription-hub.ts";
import { requestNode } from "../upstream/ask-node.ts";
import { subscribeToHeads } from "./heads-subscription.ts";
import type { NodePool } from "../upstream/node-pool.ts";

/** How the head is watched. */
export type HeadWatchOptions = Readonly<{ pollIntervalMs: number; timeoutMs: number }>;

/** Silence of the newHeads subscription after which the head is asked for as well. */
const silentAfterMs = 2_000;
/** Heads found by asking, one after another, from which the subscription counts as stalled. */
const missedHeads = 3;

/** Follows the node's head: by one newHeads subscription, by asking while there is none or it says nothing. */
export type HeadWatch = Disposable & Readonly<{ linkOpened: () => void; linkLost: () => void }>;

/** What following the head takes. */
export type HeadWatchDependencies = Readonly<{
  pool: Pick<NodePool, "send">;
  hub: Pick<SubscriptionHub, "subscribe">;
  head: Head;
  /** The subscription is open and misses heads. */
  resetLink: () => void;
  /** The node answers again after it did not, and no connection was there to tell whether it is the same one. */
  returned: () => void;
}>;

/** Starts to follow. */
export function startHeadWatch(
  options: HeadWatchOptions,
  { pool, hub, head, resetLink, returned }: HeadWatchDependencies,
): HeadWatch {
  const state = { missed: 0, isAway: false, isAsking: false, finalizedFor: -1 };

  const ask = (block: "latest" | "finalized") =>
    requestNode(pool, { method: "eth_getBlockByNumber", params: `["${block}",false]`, timeoutMs: options.timeoutMs });
  const finalize = async () => {
    const generation = head.generation();
    if (state.finalizedFor === generation || head.known() === undefined) return;
    state.finalizedFor = generation;
    const block = readBlock((await ask("finalized")) ?? "");
    if (block !== undefined) head.finalize(block.number);
  };
  const poll = async () => {
    if (heads.isThere() && head.ageMs() < silentAfterMs) {
      await finalize();
      return;
    }
    const before = head.generation();
    const block = readBlock((await ask("latest")) ?? "");
    if (block === undefined) {
      state.isAway = !heads.isThere();
      return;
    }
    if (state.isAway) returned();
    state.isAway = false;
    head.advance(block);
    if (heads.isThere() && head.generation() !== before) state.missed += 1;
    if (state.missed >= missedHeads) {
      state.missed = 0;
      resetLink();
    }
    await finalize();
  };
  const look = () => {
    if (state.isAsking) return;
    state.isAsking = true;
    const over = () => {
      state.isAsking = false;
    };
    poll().then(over, over);
  };
  const notify = (result: string) => {
    const block = readBlock(result);
    state.missed = 0;
    if (block !== undefined) head.advance(block);
  };
  const heads = subscribeToHeads(hub, notify);
  const timer = setInterval(look, options.pollIntervalMs);
  look();
  return {
    linkOpened: () => {
      // From here on the connection tells whether the node was away.
      state.isAway = false;
      heads.linkOpened();
    },
    linkLost: () => {
      heads.linkLost();
      state.missed = 0;
      head.lose();
      look();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
