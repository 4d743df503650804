import type { Logger } from "#daemon/log/log.ts";
import type { InFlight, InFlightBook } from "../in-flight.ts";
import type { SentBatch, Job } from "./send-batch.ts";

export type SubmitterDependencies = Readonly<{
  book: InFlightBook;
  log: Logger;
  sendBatch: (jobs: readonly Job[]) => Promise<SentBatch>;
  /** Called when transactions were sent, to trigger the check for receipts. */
  onSent: () => void;
}>;

/**
 * Single queue of a signing account, which assigns all its nonces. Settlements that arrive while a batch is in flight go into the next one,
 * with one journal write and one request.
 */
export type Submitter = Readonly<{
  /** Queues a settlement for a new transaction with its own nonce. */
  submit: (entry: InFlight) => void;
  /** Queues the replacement of a settlement's newest transaction at the same nonce, with a higher fee. */
  replace: (entry: InFlight) => void;
  /** Resolves when the queue is empty and nothing is being sent. */
  idle: () => Promise<void>;
}>;

/** Creates the submitter of one signing account. Its queue is limited by the max in-flight settlements. */
export function createSubmitter(
  { batchMax }: Readonly<{ batchMax: number }>,
  { book, log, sendBatch, onSent }: SubmitterDependencies,
): Submitter {
  const queue: Job[] = [];
  let isRunning = false;
  let running = Promise.resolve();
  let fault: string | undefined;

  const send = async (jobs: readonly Job[]): Promise<void> => {
    try {
      const { signed, again } = await sendBatch(jobs);
      for (const { entry } of jobs) entry.queued = false;
      for (const job of again) enqueue(job);
      fault = undefined;
      // Without a transaction there is nothing new to check, and an immediate check would only queue the same jobs again.
      if (signed > 0) onSent();
    } catch (error) {
      for (const { entry } of jobs) entry.queued = false;
      const failure = error instanceof Error ? error : new Error(String(error));
      // A failed replacement is retried at each poll; logging it once is enough.
      if (fault !== failure.message)
        log.error(
          { event: "settlements-not-sent", err: error, settlements: jobs.length },
          "settlements could not be sent",
        );
      fault = failure.message;
      for (const { entry } of jobs) if (entry.attempts.length === 0) book.end(entry, failure);
    }
  };

  const run = async (): Promise<void> => {
    while (queue.length > 0) await send(queue.splice(0, batchMax));
    isRunning = false;
  };

  const enqueue = (job: Job): void => {
    if (job.entry.queued) return;
    job.entry.queued = true;
    queue.push(job);
    if (isRunning) return;
    isRunning = true;
    running = run();
  };

  return {
    submit: (entry) => enqueue({ entry, replaced: undefined }),
    replace: (entry) => enqueue({ entry, replaced: entry.attempts.at(-1) }),
    idle: () => running,
  };
}
