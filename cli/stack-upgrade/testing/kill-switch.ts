/** Counts the changes that a run makes to the outside, and ends it at one of them as kill -9 does: nothing happens after it. */
export type KillSwitch = Readonly<{
  /** Makes one change, unless the run has ended. */
  change: <T>(effect: () => T) => Promise<T>;
  changes: () => number;
  /** Ends the run at the n-th change from now on, before or after its effect; resolves when that has happened. */
  killAt: (nth: number, isAfter: boolean) => Promise<"killed">;
  /** Lets the next run live. */
  spare: () => void;
}>;

type Kill = Readonly<{ at: number; isAfter: boolean; report: () => void }>;

/** Never resolves, as for a process that was killed. */
const forever = () => new Promise<never>(() => {});

/** Creates a switch that kills nothing yet. */
export function createKillSwitch(): KillSwitch {
  let changes = 0;
  let kill: Kill | undefined;
  return {
    changes: () => changes,
    change: async (effect) => {
      changes += 1;
      const now = kill?.at === changes ? kill : undefined;
      if (now === undefined) return effect();
      try {
        if (now.isAfter) effect();
      } catch {
        // Nobody is left to be notified.
      }
      now.report();
      return forever();
    },
    killAt: (nth, isAfter) =>
      new Promise((resolve) => {
        kill = { at: changes + nth, isAfter, report: () => resolve("killed") };
      }),
    spare: () => {
      kill = undefined;
    },
  };
}
