import type { Mask } from "#daemon/secrets/mask.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { sidecarSettings, type SidecarSettings } from "#sidecar/settings.ts";

/** Reads the sidecar's settings for a command that runs next to it. On errors, prints them to standard error, sets exit status 1 and returns undefined. */
export function readSidecarSettings(
  file: string | undefined,
  { mask }: Readonly<{ mask: Mask }>,
): SidecarSettings | undefined {
  try {
    const settings = readSettings(sidecarSettings, { env: process.env, file });
    mask.hide(settings);
    return settings;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return undefined;
  }
}
