import type { Logger } from "#daemon/log.ts";
import type { AnswerCache } from "../cache/answer-cache.ts";
import type { Head } from "../cache/head.ts";
import type { PolicySource } from "../policy/policy.ts";
import type { GatewaySettings } from "../settings.ts";
import { makeSubscriptionHub, type SubscriptionHub } from "../websocket/subscription-hub.ts";
import { startHeadWatch } from "./head-watch.ts";
import { startNodeLink, type NodeLink } from "./node-link.ts";
import { NodePool } from "./node-pool.ts";

/** What connecting to the node takes. */
export type NodeDependencies = Readonly<{
  httpUrl: string;
  webSocketUrl: string;
  head: Head;
  cache: AnswerCache;
  policy: PolicySource;
  log: Logger;
  now: () => number;
}>;

/** The node, as the gateway is connected to it: calls over HTTP, subscriptions over one WebSocket, and its head followed. */
export type Node = Disposable & Readonly<{ pool: NodePool; hub: SubscriptionHub }>;

/** Connects to the node and stays connected. What was cached is forgotten when the node may have become another one. */
export function startNode(
  { upstream, head: headSettings, webSocket }: GatewaySettings,
  { httpUrl, webSocketUrl, head, cache, policy, log, now }: NodeDependencies,
): Node {
  const stack = new DisposableStack();
  const responseBytes = () => policy().settings.limits.responseBytes;
  const pool = stack.use(new NodePool({ ...upstream, httpUrl, responseBytes }, { now }));
  const unlinked = { kind: "error", json: '{"code":-32603,"message":"the node does not answer"}' } as const;
  let link: NodeLink | undefined;
  const hub = makeSubscriptionHub(() => link ?? { call: async () => unlinked });
  const resetLink = () => link?.reset();
  const watch = stack.use(startHeadWatch(headSettings, { pool, hub, head, resetLink, returned: cache.clear }));
  const events = {
    opened: () => {
      // It may be another node, or the same one with another chain. While it was away, constants still answered.
      cache.clear();
      watch.linkOpened();
    },
    lost: () => {
      hub.lost();
      watch.linkLost();
    },
    notified: hub.notified,
  };
  const { reconnectMs } = webSocket;
  link = stack.use(
    startNodeLink({ url: webSocketUrl, reconnectMs, timeoutMs: headSettings.timeoutMs }, { events, log }),
  );
  return { pool, hub, [Symbol.dispose]: () => stack.dispose() };
}
