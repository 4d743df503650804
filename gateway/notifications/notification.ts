import type { NodeResponse } from "../json-rpc/read-answer.ts";
import { readBlock, RecentBlocks } from "./recent-blocks.ts";
import { isRemoved, type LogBudget, SentLogs } from "./sent-logs.ts";

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
export class SentNotifications {
  readonly blocks: RecentBlocks;
  readonly #budget: LogBudget = { spentBytes: 0 };

  constructor(blocks: number) {
    this.blocks = new RecentBlocks(blocks);
  }

  /** Creates a store for the log entries of one subscription; all stores share one budget. */
  logs(): SentLogs {
    return new SentLogs(this.#budget);
  }

  note({ sent }: SharedSubscription, result: string): void {
    const block = sent === undefined ? readBlock(result) : undefined;
    if (block !== undefined) this.blocks.note(block);
    sent?.note(result);
  }

  has({ sent }: SharedSubscription, result: string): boolean {
    if (sent === undefined) return this.blocks.has(readBlock(result)?.hash ?? "");
    return sent.has(result) !== isRemoved(result);
  }
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
