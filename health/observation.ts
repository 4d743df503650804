/** Known state of one noun: a plain value that is replaced as a whole, so that nobody reads half of a change. */
export type Observation<T extends object> = Readonly<{
  now: () => Readonly<T>;
  /** Replaces the fields that are given. */
  note: (change: Readonly<Partial<T>>) => void;
}>;

/** Creates an observation that holds a first value; `onChange` is called after each change of it. */
export function createObservation<T extends object>(initial: T, onChange?: () => void): Observation<T> {
  let current = initial;
  return {
    now: () => current,
    note: (change) => {
      current = { ...current, ...change };
      onChange?.();
    },
  };
}
