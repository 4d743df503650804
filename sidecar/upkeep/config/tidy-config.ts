import { dirname } from "node:path";
import type { Logger } from "#daemon/log/log.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { tidyAroundConfig } from "./config-writer.ts";
import type { NodePlace } from "./node-place.ts";

/** Removes temporary files of a sidecar that was killed in the middle of a write. */
export async function tidyConfig({
  place,
  versions,
  log,
}: Readonly<{
  place: Pick<NodePlace, "layout" | "lock" | "fileDeadline">;
  versions: ConfigVersions;
  log: Logger;
}>): Promise<void> {
  const { configPath } = place.layout();
  const locked = await place.fileDeadline.call(`looking at ${dirname(configPath)}`, place.lock().acquireOnceReached);
  if (!locked.ok) return;
  try {
    await versions.tidy();
    await tidyAroundConfig(configPath);
  } catch (error) {
    log.warn({ event: "config-not-tidied", err: error }, "temporary files of an earlier run could not be removed");
  }
}
