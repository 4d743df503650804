/** Creates the part of the record that is the same for every upgrade before its first step. Pure. */
export function createFirstStage(nowMs: number) {
  return {
    beganMs: nowMs,
    stage: "stopping",
    stageSinceMs: nowMs,
    attempts: 0,
    interruptions: 0,
    newRan: false,
  } as const;
}

/** Formats the beginning of an upgrade or restore as the name of a directory. Pure. */
export function formatWorkId(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-");
}
