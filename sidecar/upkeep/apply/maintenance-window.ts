import { Cron } from "croner";
import { StartupError } from "#daemon/startup-error.ts";

/** When restarts that can wait may happen. */
export type MaintenanceWindow = Readonly<{
  isOpen: (wallMs: number) => boolean;
  /** When the next window opens; wall clock. */
  opensAtMs: (wallMs: number) => number;
}>;

/** How windows are set. */
export type MaintenanceOptions = Readonly<{
  maintenanceCron?: string | undefined;
  maintenanceMs: number;
  maintenanceTimeZone: string;
}>;

/**
 * Makes the windows of a cron expression; without one, it is always open.
 *
 * @throws {StartupError} when the expression or the time zone can't be read.
 */
export function maintenanceWindow(options: MaintenanceOptions): MaintenanceWindow {
  const { maintenanceCron: expression, maintenanceMs, maintenanceTimeZone: timezone } = options;
  if (expression === undefined) return { isOpen: () => true, opensAtMs: (wallMs) => wallMs };
  const cron = parse(expression, timezone);
  return {
    isOpen: (wallMs) => {
      // `previousRuns` leaves out the reference itself, so the window's first instant needs one second more.
      const last = cron.previousRuns(1, new Date(wallMs + 1_000))[0];
      return last !== undefined && wallMs - last.getTime() < maintenanceMs && last.getTime() <= wallMs;
    },
    opensAtMs: (wallMs) => cron.nextRun(new Date(wallMs))?.getTime() ?? Number.POSITIVE_INFINITY,
  };
}

function parse(expression: string, timezone: string): Cron {
  try {
    const cron = new Cron(expression, { paused: true, timezone });
    if (cron.nextRun() === null) throw new Error("no such time will come");
    return cron;
  } catch (cause) {
    throw new StartupError(
      `restart.maintenanceCron "${expression}" (time zone ${timezone}) can't be used: ${(cause as Error).message}; ` +
        "expected a cron expression such as 0 3 * * *.",
      { cause },
    );
  }
}
