/** Runs pieces of work one after the other, in the order in which they were given. */
export type Serial = Readonly<{
  /** Runs `work` when everything before it is done; fails with what `work` fails with. */
  run<T>(work: () => Promise<T>): Promise<T>;
}>;

/** The queue already holds as much work as it may. */
export class SerialFullError extends Error {
  override readonly name = "SerialFullError";
  readonly code = "serial_full";
}

/** Creates an idle queue that holds at most `waitingMax` pieces of work. */
export function createSerial({ waitingMax }: Readonly<{ waitingMax: number }>): Serial {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      if (waiting >= waitingMax) throw new SerialFullError(`more than ${waitingMax} writes wait for the chain`);
      waiting += 1;
      const mine = last.then(work);
      last = mine.then(
        () => undefined,
        () => undefined,
      );
      try {
        return await mine;
      } finally {
        waiting -= 1;
      }
    },
  };
}
