import { systemClock } from "#daemon/clock.ts";
import { explainUnreadable, readNamedText } from "#daemon/files/regular-file.ts";
import { createLog } from "#daemon/log/log.ts";
import type { Mask } from "#daemon/secrets/mask.ts";
import { formatFailure } from "#daemon/command-line/start-failure.ts";
import { waitForAbort } from "#daemon/process/stop-signal.ts";
import { startOverview } from "#sidecar/overview/overview.ts";
import { isTarget, listTargetLines, parseTargets, TargetError, type Target } from "#sidecar/overview/targets.ts";

export { TargetError } from "#sidecar/overview/targets.ts";

/** Serves the overview until the signal aborts. Returns the exit status: 0, or 1 with a message if it can't start. */
export async function serveOverview(
  where: readonly string[],
  listen: Readonly<{ host: string; port: number; allowedHosts: readonly string[] }>,
  mask: Mask,
  signal: AbortSignal,
): Promise<number> {
  const log = createLog({ service: "dashboard", level: "warn", mask });
  try {
    const targets = readTargets(where);
    const dependencies = { clock: systemClock, log, mask };
    await using overview = await startOverview(targets, { ...listen, setting: "--page" }, dependencies);
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

/** Max bytes read from a targets file; no list is longer. */
const fileBytesMax = 65_536;

/** Reads `--targets`: targets, and files with one target per line. */
export function readTargets(where: readonly string[]): readonly Target[] {
  return parseTargets(where.flatMap((one) => (isTarget(one) ? [one] : listTargetLines(readFile(one)))));
}

function readFile(path: string): string {
  try {
    return readNamedText(path, fileBytesMax);
  } catch (cause) {
    const message = `${path} is neither a URL nor a readable file (${explainUnreadable(cause)}).`;
    throw new TargetError(message, { cause });
  }
}
