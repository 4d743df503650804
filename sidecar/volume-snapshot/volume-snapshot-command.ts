import { createLog } from "#daemon/log.ts";
import type { Mask } from "#daemon/mask.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { DriverError } from "../upkeep/drivers/driver.ts";
import { kubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";
import { volumeSnapshotSettings } from "./settings.ts";
import { takeSnapshot } from "./volume-snapshots.ts";

/** Takes one snapshot of a node's volume. Returns the exit status: 0 done, 1 refused, with the API server's words. */
export async function volumeSnapshotCommand(
  sources: Readonly<{ env: Environment; settingsFile: string | undefined }>,
  { signal, error, mask }: Readonly<{ signal: AbortSignal; error: (text: string) => void; mask: Mask }>,
): Promise<number> {
  try {
    const settings = readSettings(volumeSnapshotSettings, { env: sources.env, file: sources.settingsFile });
    mask.hide(settings);
    const log = createLog({ service: "volume-snapshot", level: settings.log.level, mask });
    await using api = kubernetesApi(settings.kubernetes);
    await takeSnapshot(settings, { api, log, signal, now: () => new Date() });
    return 0;
  } catch (cause) {
    if (cause instanceof DriverError) error(mask.text(`volume-snapshot: ${cause.message}\n`));
    else if (cause instanceof SettingsError) error(`${cause.message}\n`);
    else throw cause;
    return 1;
  }
}
