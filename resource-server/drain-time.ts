/** Part of the grace of a stop that requests under way may use for their upstream and settlement. */
const drainShare = 0.6;

/** Part of it that is left after that for what was cut off to be answered; the rest is for closing. */
const answerShare = 0.2;

/**
 * Aborts a while after `stop` does: requests under way get most of the grace of a stop to end by themselves. What is cut off then
 * is safe: unsettled work is not charged, and a settlement is taken up after the next start.
 */
export function createDrainSignal(stop: AbortSignal, graceMs: number): AbortSignal {
  const controller = new AbortController();
  stop.addEventListener(
    "abort",
    () => setTimeout(() => controller.abort("the process is stopping"), graceMs * drainShare).unref(),
    { once: true },
  );
  return controller.signal;
}

/** Milliseconds from the abort of {@link createDrainSignal} in which everything has to be answered. */
export function computeAnswerTimeMs(graceMs: number): number {
  return graceMs * answerShare;
}
