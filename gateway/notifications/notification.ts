import type { NodeResponse } from "../json-rpc/read-answer.ts";
import { createRecentBlocks, readBlock, type RecentBlocks } from "./recent-blocks.ts";
import { isRemoved, createSentLogs, type LogBudget, type SentLogs } from "./sent-logs.ts";

/** A subscription's notification, serialized once for all its subscribers. */
export type Notification = Readonly<{
  /** The notification's `result`, as JSON text. */
  result: string;
  /** Bytes of a subscriber's message from the result on; the bytes before contain the subscriber's own subscription id. */
  tail: Buffer;
}>;

/** Serializes a notification; `result` is JSON text, one byte per character. */
export function serializeNotification(result: string): Notification {
  return { result, tail: Buffer.from(`${result}}}`, "latin1") };
}

/** Builds the bytes of a subscriber's messages up to the result; `id` is the subscription id as JSON text. */
export function buildNotificationPrefix(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":${id},"result":`, "latin1");
}

/** Notifications sent to subscribers, as far back as a backfill needs them. */
export type SentNotifications = Readonly<{
  /** The blocks that were sent. */
  blocks: RecentBlocks;
  /** Creates a store for the log entries of one subscription; all stores share one budget. */
  logs: () => SentLogs;
  note: (shared: SharedSubscription, result: string) => void;
  has: (shared: SharedSubscription, result: string) => boolean;
}>;

/** Creates a store of the `blocks` newest blocks. */
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

/** A subscription at the node and its subscribers. */
export type SharedSubscription = {
  /** `eth_subscribe` parameters as JSON text in canonical form. */
  readonly params: string;
  /** Key of the caller that started it and whose slot at the node it uses; undefined: the gateway itself. */
  readonly beganBy: string | undefined;
  readonly subscribers: Set<Subscriber>;
  /** Entries sent to a `logs` subscription; undefined for `newHeads`. */
  readonly sent: SentLogs | undefined;
  /** Number of the newest block when it started; older blocks do not concern it. */
  readonly since: bigint | undefined;
  /** The node's subscription id, as JSON text. */
  id: string | undefined;
  reply: Promise<NodeResponse>;
  /** Notifications buffered until those missed before them are sent. */
  held: string[] | undefined;
};
