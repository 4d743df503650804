import type { Logger } from "#daemon/log/log.ts";
import type { InFlightSettlement } from "../in-flight.ts";
import type { Job } from "./batch-planner.ts";
import type { SentBatch, UnsentBatch } from "./send-batch.ts";

export type SubmitterDependencies = Readonly<{
  log: Logger;
  sendBatch: (jobs: readonly Job[]) => Promise<SentBatch>;
  /** Called when transactions were sent, to trigger the check for receipts. */
  onSent: () => void;
  /** Receives settlements without a transaction that could not be sent. */
  onUnsent: (unsent: UnsentBatch) => void;
}>;

/**
 * Single queue of a signing account, which assigns all its nonces. Settlements that arrive while others are being sent go next,
 * with one journal write and one request, and in one transaction where the chain and their kind allow it.
 */
export type Submitter = Readonly<{
  /** Queues settlements for a new transaction with its own nonce: one, which others may join, or those of an earlier transaction. */
  submit: (...entries: readonly InFlightSettlement[]) => void;
  /** Queues the replacement of the newest transaction of settlements, or of another one with the given nonce, with a higher fee. */
  replace: (entries: readonly InFlightSettlement[], nonce?: number) => void;
  /** Returns the number of settlements that are queued or being sent. */
  size: () => number;
  /** Resolves when the queue is empty and nothing is being sent. */
  idle: () => Promise<void>;
}>;

/** Creates the submitter of one signing account. Its queue is limited by the max in-flight settlements. */
export function createSubmitter(
  { batchMax }: Readonly<{ batchMax: number }>,
  { log, sendBatch, onSent, onUnsent }: SubmitterDependencies,
): Submitter {
  const queue: Job[] = [];
  let isRunning = false;
  let sendingCount = 0;
  let running = Promise.resolve();
  let fault: string | undefined;

  const send = async (jobs: readonly Job[]): Promise<void> => {
    const entries = jobs.flatMap((job) => job.entries);
    try {
      const { signed, again, unsent } = await sendBatch(jobs);
      for (const entry of entries) entry.queued = false;
      for (const job of again) enqueue(job);
      unsent.forEach(onUnsent);
      fault = undefined;
      // Without a transaction there is nothing new to check, and an immediate check would only queue the same jobs again.
      if (signed > 0) onSent();
    } catch (error) {
      for (const entry of entries) entry.queued = false;
      const failure = error instanceof Error ? error : new Error(String(error));
      // A failed replacement is retried at each poll; logging it once is enough.
      if (fault !== failure.message)
        log.error(
          { event: "settlements-not-sent", err: error, settlements: entries.length },
          "settlements could not be sent",
        );
      fault = failure.message;
      for (const entry of entries) if (entry.attempts.length === 0) onUnsent({ entry, failure });
    }
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) {
      const jobs = queue.splice(0, batchMax);
      sendingCount = jobs.length;
      await send(jobs);
    }
    [isRunning, sendingCount] = [false, 0];
  };

  const enqueue = (job: Job): void => {
    const entries = job.entries.filter(({ queued }) => !queued);
    if (entries.length === 0) return;
    for (const entry of entries) entry.queued = true;
    queue.push({ ...job, entries });
    if (isRunning) return;
    isRunning = true;
    running = run();
  };

  return {
    submit: (...entries) => enqueue({ entries, replaced: undefined }),
    replace: (entries, nonce) => {
      const newest = entries[0]?.attempts.at(-1);
      enqueue({ entries, replaced: newest && { ...newest, nonce: nonce ?? newest.nonce } });
    },
    size: () => queue.length + sendingCount,
    idle: () => running,
  };
}
