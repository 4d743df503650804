import type { Logger } from "#daemon/log.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { ConfigReading } from "./config-file.ts";
import type { ObservedConfig } from "./config-observation.ts";
import type { ConfigVersions } from "./config-versions.ts";

/**
 * Keeps what node.conf held before somebody changed it, for a person to find and to judge the change by; that of before the sidecar's own start,
 * known at the first pass alone, is what was last right then.
 */
export async function saveConfigBeforeEdit(
  reading: ConfigReading,
  { config, isFirst }: Readonly<{ config: ObservedConfig; isFirst: boolean }>,
  { versions, state, log }: Readonly<{ versions: ConfigVersions; state: Pick<UpkeepState, "store">; log: Logger }>,
): Promise<void> {
  const { lastUsable } = config.now();
  if (!reading.ok || reading.contentHash === lastUsable?.contentHash) return;
  // The same disk: what can't be written now would throw, or hang.
  if (state.store.failure() !== undefined) return;
  config.note({ lastUsable: { contentHash: reading.contentHash, bytes: reading.bytes } });
  try {
    const before = lastUsable?.bytes ?? (isFirst ? await versions.recall("last-good") : undefined);
    if (before !== undefined && Buffer.compare(before, reading.bytes) !== 0) {
      await versions.keep(before);
    }
  } catch (error) {
    // The change is judged all the same, and a correction keeps what it replaces or is not made.
    log.warn({ err: error }, "what node.conf held before it was changed could not be kept");
  }
}
