/** What the record of every upgrade says before its first step. Pure. */
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

/** Names a piece of work by its beginning, as a directory may be called. Pure. */
export function formatWorkId(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:.]/g, "-");
}
