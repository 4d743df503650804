/** Share of the shutdown grace period that in-flight requests may use for their upstream and settlement. */
const drainTimeFraction = 0.6;

/** Subsequent share for responses to cancelled requests; the rest is for closing. */
const responseTimeFraction = 0.2;

/**
 * Creates a signal that aborts some time after `stop`. Cancelling is safe: unsettled purchases are not charged, and settlements are
 * resumed.
 */
export function createDrainSignal(stop: AbortSignal, graceMs: number): AbortSignal {
  const controller = new AbortController();
  stop.addEventListener(
    "abort",
    () => setTimeout(() => controller.abort("the process is stopping"), graceMs * drainTimeFraction).unref(),
    { once: true },
  );
  return controller.signal;
}

/** Returns the time from the abort of {@link createDrainSignal} within which all requests must get a response, in milliseconds. */
export function computeResponseTimeMs(graceMs: number): number {
  return graceMs * responseTimeFraction;
}
