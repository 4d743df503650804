import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Logger } from "#daemon/log.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { tidyBesideConfig } from "./config-writer.ts";
import type { NodePlace } from "./node-place.ts";

/** Removes what a sidecar that was killed in the middle of a write left behind. */
export async function tidyConfig({
  place,
  versions,
  log,
}: Readonly<{
  place: Pick<NodePlace, "layout" | "lock" | "patience">;
  versions: ConfigVersions;
  log: Logger;
}>): Promise<void> {
  const { configPath } = place.layout();
  const directory = dirname(configPath);
  // Taking the lock asks the file system without a time limit: it must have answered just before.
  await place.patience.call(`looking at ${directory}`, () => stat(directory).catch(() => undefined));
  if (!place.lock().acquire().ok) return;
  try {
    await versions.tidy();
    await tidyBesideConfig(configPath);
  } catch (error) {
    log.warn({ err: error }, "temporary files of an earlier run could not be removed");
  }
}
