import { systemClock } from "#daemon/clock.ts";
import { createLog } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { formatFailure } from "#daemon/command-line/start-failure.ts";
import { waitForAbort } from "#daemon/process/stop-signal.ts";
import { startOverview } from "#sidecar/overview/overview.ts";
import { TargetError } from "#sidecar/overview/targets.ts";
import { readTargets } from "../target-list.ts";

/** Dashboard targets, and the page's listen address. */
export type DashboardOptions = Readonly<{
  /** Targets, and files that list targets. */
  where: readonly string[];
  listen: Readonly<{ host: string; port: number; allowedHosts: readonly string[] }>;
}>;

/** Serves the overview until the signal aborts. Returns the exit status: 0, or 1 with a message if it can't start. */
export async function runDashboard(
  { where, listen }: DashboardOptions,
  { mask, signal }: Readonly<{ mask: Mask; signal: AbortSignal }>,
): Promise<number> {
  const log = createLog({ service: "dashboard", level: "warn", mask });
  try {
    const targets = readTargets(where);
    await using overview = await startOverview(
      targets,
      { ...listen, setting: "--page" },
      { clock: systemClock, log, mask },
    );
    const what = targets.length === 1 ? "one target" : `${targets.length} targets`;
    process.stdout.write(`The overview of ${what} is at ${overview.url}/\n`);
    await waitForAbort(signal);
    return 0;
  } catch (error) {
    const lines = error instanceof TargetError ? [error.message] : formatFailure(error);
    for (const line of lines) process.stderr.write(mask.text(`dashboard: ${line}\n`));
    return 1;
  }
}
