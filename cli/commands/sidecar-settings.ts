import type { Mask } from "#daemon/secrets/mask.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { sidecarSettings, type SidecarSettings } from "#sidecar/settings.ts";

/**
 * Reads the sidecar's settings for a command that works next to it. Problems are printed on standard error and set the exit
 * status 1; the result is undefined then.
 */
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
