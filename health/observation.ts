/** Known state of one subject: a plain value that is replaced as a whole, so that no reader sees a partial change. */
export type Observation<T extends object> = Readonly<{
  now: () => Readonly<T>;
  note: (change: Readonly<Partial<T>>) => void;
}>;

/** Creates an observation with an initial value; `onChange` is called after each change. */
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
