import { basename } from "node:path";
import { parseConfig } from "./observe/config-document.ts";
import type { ConfigReading } from "./observe/config-file.ts";
import type { ConfigProblemReason } from "./observe/config-problem.ts";
import { writeConfig } from "./apply/config-writer.ts";
import type { UpkeepMemory, UpkeepParts } from "./upkeep-parts.ts";

/** What came of it: `again` when the file is another one now, `wakeInMs` when it is to be judged again by then. */
export type Judgement = Readonly<{ again: boolean; wakeInMs?: number }>;

/** Problems that the last good content mends; one that is unreadable or too large to keep a copy of is left to who owns it. */
const mendable: ReadonlySet<ConfigProblemReason> = new Set([
  "Vanished",
  "Empty",
  "NotText",
  "HalfWritten",
  "NotAnObject",
  "NoChain",
]);

/**
 * Says whether node.conf can be used. While it can't, the last good one stays in force; when it has not changed for
 * `upkeep.restoreAfterMs`, that one is written back, and the unusable content is kept among the versions.
 */
export async function judgeConfig(
  reading: ConfigReading,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<Judgement> {
  const { board, clock, metrics } = parts;
  const nowMs = clock.monotonicMs();
  const problemReason = reading.ok ? undefined : reading.problem.reason;
  const isAnother = reading.contentHash !== memory.contentHash || problemReason !== memory.problemReason;
  if (isAnother || memory.contentSinceMs === 0) {
    memory.contentHash = reading.contentHash;
    memory.problemReason = problemReason;
    memory.contentSinceMs = nowMs;
  }
  metrics.configValid(reading.ok);
  const type = "ConfigValid";
  if (reading.ok) {
    board.set({ type, status: "True", reason: "Valid", message: `${parts.place.layout().configPath} can be used.` });
    return { again: false };
  }
  const { reason, message } = reading.problem;
  board.set({ type, status: "False", reason, message: `${message} The last good one stays in force.` });
  return mendable.has(reason) ? mend(reading, nowMs - memory.contentSinceMs, parts) : { again: false };
}

async function mend(
  reading: Extract<ConfigReading, { ok: false }>,
  brokenForMs: number,
  parts: UpkeepParts,
): Promise<Judgement> {
  const { settings, state, versions, events, board } = parts;
  const { mode, restoreAfterMs, configLimitBytes } = settings.upkeep;
  if (mode === "observe" || restoreAfterMs === 0 || state.hold.get() !== undefined) return { again: false };
  const good = await versions.recall("last-good");
  if (good === undefined || !parseConfig(good).ok) return { again: false };
  if (brokenForMs < restoreAfterMs) return { again: false, wakeInMs: restoreAfterMs - brokenForMs };
  const path = parts.place.layout().configPath;
  const { contentHash: expectedHash } = reading;
  state.nodeHas.set("unknown");
  const written = await writeConfig(
    { path, limitBytes: configLimitBytes, expectedHash, expectedProblem: reading.problem.reason, content: good },
    { lock: parts.place.lock(), versions },
  );
  if (written.ok) {
    events.add("write", `${basename(path)}: restored to the last good content.`, reading.problem.message);
    return { again: true };
  }
  board.set({ type: "ConfigCurrent", status: "False", reason: written.reason, message: written.message });
  return { again: false };
}
