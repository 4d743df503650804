import { Cron } from "croner";

/** Times at which deferrable restarts may happen. */
export type MaintenanceWindow = Readonly<{
  isOpen: (wallMs: number) => boolean;
  /** Returns the time at which the next window opens (wall clock); infinity if there are no more windows. */
  opensAtMs: (wallMs: number) => number;
}>;

export type MaintenanceOptions = Readonly<{
  maintenanceCron?: string | undefined;
  maintenanceMs: number;
  maintenanceTimeZone: string;
}>;

/** Creates the windows for a cron expression, which the settings' schema has validated. Without an expression, the window is always open. */
export function createMaintenanceWindow(options: MaintenanceOptions): MaintenanceWindow {
  const { maintenanceCron: expression, maintenanceMs, maintenanceTimeZone: timezone } = options;
  if (expression === undefined) return { isOpen: () => true, opensAtMs: (wallMs) => wallMs };
  const cron = new Cron(expression, { paused: true, timezone });
  return {
    isOpen: (wallMs) => {
      // `previousRuns` excludes the reference time itself, so one second is added to include the first instant of the window.
      const last = cron.previousRuns(1, new Date(wallMs + 1_000))[0];
      return last !== undefined && wallMs - last.getTime() < maintenanceMs && last.getTime() <= wallMs;
    },
    opensAtMs: (wallMs) => cron.nextRun(new Date(wallMs))?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}
