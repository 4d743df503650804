import { createLog } from "#daemon/log.ts";
import type { Mask } from "#daemon/mask.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { RestoreError } from "./restore-error.ts";
import { restore } from "./restore.ts";
import { restoreSettings } from "./settings.ts";

/**
 * Runs one restore to its end. Returns the exit status: 0 when the data directory holds data (restored now, before, or never
 * empty), 1 when it could not be restored; running it again goes on where it ended.
 */
export async function restoreCommand(
  sources: Readonly<{ env: Environment; settingsFile: string | undefined }>,
  { signal, error, mask }: Readonly<{ signal: AbortSignal; error: (text: string) => void; mask: Mask }>,
): Promise<number> {
  try {
    const settings = readSettings(restoreSettings, { env: sources.env, file: sources.settingsFile });
    mask.hide(settings);
    const log = createLog({ service: "restore", level: settings.log.level, mask });
    await restore(settings, { log, fetch, signal });
    return 0;
  } catch (cause) {
    if (signal.aborted) error("restore: stopped; run it again and it goes on where it ended.\n");
    else if (cause instanceof RestoreError) error(mask.text(`restore: ${cause.message}.\n`));
    else if (cause instanceof SettingsError) error(`${cause.message}\n`);
    else throw cause;
    return 1;
  }
}
