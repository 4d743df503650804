import { createRecentBlocks, readBlock, type RecentBlocks } from "./recent-blocks.ts";
import { isRemoved, createSentLogs, type LogBudget, type SentLogs } from "./sent-logs.ts";
import type { SharedSubscription } from "./shared-subscription.ts";

/** What subscribers were told, as far back as it takes to tell them what they missed. */
export type SentNotifications = Readonly<{
  /** The blocks that they were told of. */
  blocks: RecentBlocks;
  /** A new memory of the log entries of one subscription; all share one budget. */
  logs: () => SentLogs;
  note: (shared: SharedSubscription, result: string) => void;
  has: (shared: SharedSubscription, result: string) => boolean;
}>;

/** Remembers the `blocks` newest blocks. */
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
