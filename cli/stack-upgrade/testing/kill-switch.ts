/** Counts the external changes that a run makes, and ends the run at one of them like kill -9: nothing happens afterwards. */
export type KillSwitch = Readonly<{
  /** Makes one change, unless the run has ended. */
  change: <T>(effect: () => T) => Promise<T>;
  changes: () => number;
  /** Ends the run at the n-th change from now on, before or after its effect; resolves once that happens. */
  killAt: (nth: number, isAfter: boolean) => Promise<"killed">;
  spare: () => void;
}>;

type Kill = Readonly<{ at: number; isAfter: boolean; report: () => void }>;

/** A call of a killed process, which never resolves. */
const forever = () => new Promise<never>(() => {});

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
        // The run is dead: there is no caller to notify.
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
