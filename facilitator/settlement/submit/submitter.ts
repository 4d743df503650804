import type { Logger } from "#daemon/log/log.ts";
import type { InFlight, InFlightBook } from "../in-flight.ts";
import type { SentBatch, Job } from "./send-batch.ts";

export type SubmitterDependencies = Readonly<{
  book: InFlightBook;
  log: Logger;
  sendBatch: (jobs: readonly Job[]) => Promise<SentBatch>;
  /** Called when transactions were sent, so that somebody looks for their receipts. */
  onSent: () => void;
}>;

/**
 * The one queue of a signing account: all its nonces are given out here. What waits while a batch is on its way goes into the
 * next one, with one write to the journal and one request.
 */
export type Submitter = Readonly<{
  /** Queues a settlement for a transaction with its own nonce. */
  submit: (entry: InFlight) => void;
  /** Queues a settlement's newest transaction to be replaced at the same nonce, with a higher fee. */
  replace: (entry: InFlight) => void;
  /** Resolves when nothing is queued or being sent. */
  idle: () => Promise<void>;
}>;

/** Creates the submitter of one signing account. Its queue is bounded by the settlements that may be in flight. */
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
      // Without a transaction there is nothing new to look for, and a look at once would only queue the same again.
      if (signed > 0) onSent();
    } catch (error) {
      for (const { entry } of jobs) entry.queued = false;
      const failure = error instanceof Error ? error : new Error(String(error));
      // A replacement that fails is tried again at each poll; saying so once is enough.
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
