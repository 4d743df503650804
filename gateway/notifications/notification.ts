import type { NodeAnswer } from "../json-rpc/read-answer.ts";
import { createRecentBlocks, readBlock, type RecentBlocks } from "./recent-blocks.ts";
import { isRemoved, createSentLogs, type LogBudget, type SentLogs } from "./sent-logs.ts";

/** A notification of a subscription, serialised once for all that share it. */
export type Notification = Readonly<{
  /** The notification's `result`, as JSON text. */
  result: string;
  /** Bytes of a subscriber's message from the result on; the bytes before them name the subscriber's own subscription. */
  tail: Buffer;
}>;

/** Serialises a notification; `result` is JSON text, a character a byte. */
export function serializeNotification(result: string): Notification {
  return { result, tail: Buffer.from(`${result}}}`, "latin1") };
}

/** Builds the bytes of a subscriber's messages up to the result; `id` is the JSON text of its subscription's id. */
export function buildNotificationPrefix(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":${id},"result":`, "latin1");
}

/** Notifications that subscribers were sent, as far back as a backfill needs them. */
export type SentNotifications = Readonly<{
  /** The blocks that they were sent. */
  blocks: RecentBlocks;
  /** Creates a memory of the log entries of one subscription; all share one budget. */
  logs: () => SentLogs;
  note: (shared: SharedSubscription, result: string) => void;
  has: (shared: SharedSubscription, result: string) => boolean;
}>;

/** Creates a memory of the `blocks` newest blocks. */
export function createSentNotifications(blocks: number): SentNotifications {
  const memory = createRecentBlocks(blocks);
  const budget: LogBudget = { spentBytes: 0 };
  return {
    blocks: memory,
    logs: () => createSentLogs(budget),
    note: ({ sent }, result) => {
      const block = sent === undefined ? readBlock(result) : undefined;
      if (block !== undefined) memory.note(block);
      sent?.note(result);
    },
    has: ({ sent }, result) => {
      if (sent === undefined) return memory.has(readBlock(result)?.hash ?? "");
      return sent.has(result) !== isRemoved(result);
    },
  };
}

/** Receiver of a subscription's notifications. */
export type Subscriber = Readonly<{
  /** Key of the caller; undefined: the gateway itself. */
  caller: string | undefined;
  notify: (notification: Notification) => void;
  /** Called when the node's connection is lost: notifications may have been missed. */
  lost: () => void;
}>;

/** One subscription at the node and its subscribers. */
export type SharedSubscription = {
  /** JSON text of eth_subscribe's parameters in canonical form. */
  readonly params: string;
  /** Key of the caller that began it and whose place at the node it takes; undefined: the gateway itself. */
  readonly beganBy: string | undefined;
  readonly subscribers: Set<Subscriber>;
  /** Entries that a `logs` subscription was sent; undefined for `newHeads`. */
  readonly sent: SentLogs | undefined;
  /** Number of the newest block when it began; older blocks do not concern it. */
  readonly since: bigint | undefined;
  /** The node's id of it, JSON text. */
  id: string | undefined;
  reply: Promise<NodeAnswer>;
  /** Notifications that wait until what was missed before them is sent. */
  held: string[] | undefined;
};
