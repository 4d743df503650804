import type { NodeResponse } from "../json-rpc/read-answer.ts";
import { readBlock, RecentBlocks, readQuantity } from "./recent-blocks.ts";
import { readObject } from "../json-rpc/read-object.ts";

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

const rememberedLogs = 10_000;
/** Max bytes of log entries remembered by all subscriptions that share a budget. */
const rememberedBytes = 33_554_432;

/** Bytes of log entries remembered by the subscriptions that share the budget. The subscription that exceeds the budget drops its own oldest entries. */
type LogBudget = { spentBytes: number };

type SentLog = Readonly<{ number: bigint; json: string }>;

/** The newest log entries sent to the subscribers of one filter whose blocks are still canonical. */
export class SentLogs {
  readonly #budget: LogBudget;
  readonly #logs = new Map<string, SentLog>();
  #forgottenUpTo = -1n;

  constructor(budget: LogBudget) {
    this.#budget = budget;
  }

  note(json: string): void {
    const log = readLog(json);
    if (log === undefined) return;
    const previousLog = this.#logs.get(log.key);
    if (previousLog !== undefined) this.#forget(log.key, previousLog);
    if (log.isRemoved) return;
    this.#logs.set(log.key, { number: log.number, json });
    this.#budget.spentBytes += json.length;
    for (const [key, oldestLog] of this.#logs) {
      if (this.#logs.size <= rememberedLogs && this.#budget.spentBytes <= rememberedBytes) return;
      this.#forget(key, oldestLog);
      if (oldestLog.number > this.#forgottenUpTo) this.#forgottenUpTo = oldestLog.number;
    }
  }

  has(json: string): boolean {
    return this.#logs.has(readLog(json)?.key ?? "");
  }

  /** Returns the entries of blocks above this one, newest first, or undefined if some of these entries may have been dropped. */
  above(number: bigint): readonly string[] | undefined {
    if (this.#forgottenUpTo > number) return undefined;
    const laterLogs = [...this.#logs.values()].filter((log) => log.number > number);
    return laterLogs.map(({ json }) => json).toReversed();
  }

  clear(): void {
    for (const [key, log] of this.#logs) this.#forget(key, log);
  }

  #forget(key: string, log: SentLog): void {
    this.#logs.delete(key);
    this.#budget.spentBytes -= log.json.length;
  }
}

/** Formats a log entry in the form in which it is sent after a reorganization removed its block. */
export function formatRemovedLog(log: string): string {
  const removedLog = log.replace(/"removed"\s*:\s*false/, '"removed":true');
  return removedLog === log ? `${log.slice(0, log.lastIndexOf("}"))},"removed":true}` : removedLog;
}

function isRemoved(log: string): boolean {
  return readLog(log)?.isRemoved ?? false;
}

function readLog(json: string) {
  const members = readObject(json);
  const number = readQuantity(members?.get("blockNumber"));
  const hash = members?.get("blockHash");
  const index = members?.get("logIndex");
  if (number === undefined || hash === undefined || index === undefined) return undefined;
  // Some chains number log entries per transaction, from 0, rather than per block.
  const transaction = members?.get("transactionHash") ?? "";
  return { key: `${hash} ${transaction} ${index}`, number, isRemoved: members?.get("removed") === "true" };
}
