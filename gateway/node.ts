import type { Logger } from "#daemon/log/log.ts";
import type { HeadTracker, NodeFitness } from "./chain/chain-head.ts";
import { startHeadWatch } from "./notifications/head-watch.ts";
import { SubscriptionHub } from "./notifications/subscription-hub.ts";
import type { PolicySource } from "./policy.ts";
import type { ResponseCache } from "./reads/response-cache.ts";
import type { GatewaySettings } from "./settings/sections.ts";
import { NodePool } from "./upstream/connection-pool.ts";
import type { NodeUpstream } from "./upstream/node-call.ts";
import { unavailableError, NodeLink } from "./upstream/node-link.ts";
import { createRequestNode } from "./upstream/request-node.ts";
import type { SharedTurns } from "./wire/shared-turns.ts";

export type UpstreamNode = Readonly<{
  httpUrl: string;
  webSocketUrl: string;
  /** Max calls that the node accepts in one batch, if its family is known to set a limit. */
  batchCallsMax?: number | undefined;
  /** Read on each call. */
  fitness: Readonly<{ current: NodeFitness }>;
  /** Called when the node's WebSocket opens or reopens: the node behind it may be a different one. */
  linkOpened: () => void;
}>;

export type NodeDependencies = Readonly<{
  head: HeadTracker;
  cache: ResponseCache;
  policy: PolicySource;
  /** Called after a gap in the node's WebSocket connection, once its subscribers have been sent what they missed, or have been closed. */
  gapEnded: (outcome: "bridged" | "closed") => void;
  log: Logger;
  now: () => number;
  turns: SharedTurns;
}>;

/** The gateway's connection to the node: calls over HTTP, subscriptions over a single WebSocket, and head tracking. */
export type Node = Disposable &
  Readonly<{
    /** Upstream to which calls are sent; by default a pool of connections to one node. */
    pool: NodeUpstream;
    hub: SubscriptionHub;
    isLinked: () => boolean;
    /** Discards everything the node reported and closes all subscriptions, because the node is on another chain. */
    disown: () => void;
  }>;

/** Connects to the node and stays connected. Clears cached responses when the node may have been replaced. */
export function startNode(
  { upstream, head: headSettings, webSocket }: GatewaySettings,
  { httpUrl, webSocketUrl, linkOpened }: UpstreamNode,
  { head, cache, policy, gapEnded, log, now, turns }: NodeDependencies,
): Node {
  const stack = new DisposableStack();
  const pool = stack.use(new NodePool({ ...upstream, httpUrl }, { now, turns, policy }));
  let link: NodeLink | undefined;
  const { timeoutMs } = headSettings;
  const requestNode = createRequestNode(pool, timeoutMs);
  const hub = stack.use(
    new SubscriptionHub(webSocket, {
      link: () => link ?? { call: async () => unavailableError },
      requestNode,
      gapEnded,
    }),
  );
  const resetLink = () => link?.reset();
  const onReturn = () => {
    cache.clear();
    link?.retryNow();
  };
  const watch = stack.use(startHeadWatch(headSettings, { requestNode, hub, head, resetLink, returned: onReturn }));
  const events = {
    opened: () => {
      // The node behind the URL, or its chain, may have changed. While it was unreachable, constants were still served.
      cache.clear();
      linkOpened();
      hub.opened();
      watch.linkOpened();
    },
    lost: () => {
      hub.lost();
      watch.linkLost();
    },
    notified: (subscription: string, result: string) => hub.notified(subscription, result),
  };
  const { reconnectMs, reconnectMaxMs } = webSocket;
  const linkOptions = { url: webSocketUrl, reconnectMs, reconnectMaxMs, timeoutMs };
  const nodeLink = stack.use(new NodeLink(linkOptions, { events, log, random: Math.random }));
  link = nodeLink;
  const disown = () => {
    cache.clear();
    hub.closeAll();
  };
  return { pool, hub, isLinked: () => nodeLink.isOpen, disown, [Symbol.dispose]: () => stack.dispose() };
}
