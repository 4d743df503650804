import type { NodeResponse } from "../json-rpc/read-answer.ts";
import { createRecentBlocks, readBlock, type RecentBlocks } from "./recent-blocks.ts";
import { isRemoved, createSentLogs, type LogBudget, type SentLogs } from "./sent-logs.ts";

/** A subscription's notification, serialized once for all its subscribers. */
export type Notification = Readonly<{
  result: string;
  /** Bytes of a subscriber's message, starting with the result; the bytes before it contain the subscriber's own subscription id. */
  tail: Buffer;
}>;

export function serializeNotification(result: string): Notification {
  return { result, tail: Buffer.from(`${result}}}`, "latin1") };
}

/** Builds the start of a subscriber's messages, up to the result; `id` is the subscription id as JSON text. */
export function buildNotificationPrefix(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":${id},"result":`, "latin1");
}

/** Notifications sent to subscribers, as far back as a backfill may need them. */
export type SentNotifications = Readonly<{
  blocks: RecentBlocks;
  /** Creates a store for the log entries of one subscription; all stores share one budget. */
  logs: () => SentLogs;
  note: (shared: SharedSubscription, result: string) => void;
  has: (shared: SharedSubscription, result: string) => boolean;
}>;

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

/** Receiver for a subscription's notifications. */
export type Subscriber = Readonly<{
  /** Key of the caller; undefined for the gateway itself. */
  caller: string | undefined;
  notify: (notification: Notification) => void;
  /** Called when the connection to the node is lost: notifications may have been missed. */
  lost: () => void;
}>;

/** A subscription to the node, and its subscribers. */
export type SharedSubscription = {
  readonly params: string;
  /** Key of the caller that started the subscription and whose slot it uses; undefined for the gateway itself. */
  readonly beganBy: string | undefined;
  readonly subscribers: Set<Subscriber>;
  /** Entries sent to a `logs` subscription; undefined for `newHeads`. */
  readonly sent: SentLogs | undefined;
  /** Number of the newest block when the subscription started; older blocks do not concern the subscription. */
  readonly since: bigint | undefined;
  id: string | undefined;
  reply: Promise<NodeResponse>;
  /** Notifications buffered until the ones missed before them have been sent. */
  held: string[] | undefined;
};
