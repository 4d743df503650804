/** Time, passed in: the wall clock for what people and files see, the monotonic clock for how long something took. */
export type Clock = Readonly<{
  /** Milliseconds since 1970; may jump. */
  wallMs: () => number;
  /** Milliseconds since some instant; never jumps. */
  monotonicMs: () => number;
}>;

/** The machine's clock. */
export const systemClock: Clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() };
