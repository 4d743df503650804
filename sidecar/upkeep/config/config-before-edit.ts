import type { ConfigReading } from "./config-file.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/**
 * Keeps what node.conf held before somebody changed it, for a person to find and to judge the change by; that of before the sidecar's own start
 * is what was last right then.
 */
export async function saveConfigBeforeEdit(
  reading: ConfigReading,
  memory: UpkeepMemory,
  { versions, state, log }: UpkeepParts,
): Promise<void> {
  const { stood } = memory;
  if (!reading.ok || reading.contentHash === stood?.contentHash) return;
  // The same disk: what can't be written now would throw, or hang.
  if (state.store.failure() !== undefined) return;
  memory.stood = { contentHash: reading.contentHash, bytes: reading.bytes };
  try {
    const before = stood?.bytes ?? (memory.passed ? undefined : await versions.recall("last-good"));
    if (before !== undefined && Buffer.compare(before, reading.bytes) !== 0) {
      await versions.keep(before);
    }
  } catch (error) {
    // The change is judged all the same, and a correction keeps what it replaces or is not made.
    log.warn({ err: error }, "what node.conf held before it was changed could not be kept");
  }
}
