import { basename } from "node:path";
import { parseConfig } from "#node/conf/document.ts";
import type { ConfigReading } from "./config-file.ts";
import { isUselessToNode, type ConfigProblemReason } from "#node/conf/problem.ts";
import { isAnswering } from "#health/node-facts.ts";
import type { ConfigWriteResult } from "./config-writer.ts";
import { locked } from "./apply-config.ts";
import { writeWithDeadline } from "./write-with-deadline.ts";
import { restorable } from "./restorable.ts";
import { hasHeld } from "../clock-then.ts";
import { authorityOf } from "../adoption/authority.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** What came of it: `again` when the file is another one now, `wakeInMs` when it is to be judged again by then. */
export type Judgement = Readonly<{
  again: boolean;
  wakeInMs?: number;
  /** What came of the write. */ written?: ConfigWriteResult;
}>;

/** Problems of a content that no node can have started with. */
const unreadableToNode: ReadonlySet<ConfigProblemReason> = new Set(["Vanished", "Empty", "NotText", "HalfWritten"]);

/**
 * Says whether node.conf can be used. While it can't, the last good one stays in force; when it has not changed for
 * `upkeep.restoreAfterMs`, that one is written back, and the unusable content is kept among the versions: a node that starts by itself
 * meanwhile, after a crash say, would not come back with what stands there. A person who is at work on the file has that long after
 * each save, and is told when it ends. A node that the sidecar itself left down, because it was killed in the middle of a restart, does not wait
 * for that.
 */
export async function checkConfig(
  reading: ConfigReading,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<Judgement> {
  const { board, clock, metrics, settings } = parts;
  const nowMs = clock.monotonicMs();
  const problemReason = reading.ok ? undefined : reading.problem.reason;
  const isAnother = reading.contentHash !== memory.contentHash || problemReason !== memory.problemReason;
  if (isAnother || memory.contentSinceMs === 0) {
    memory.contentHash = reading.contentHash;
    memory.problemReason = problemReason;
    memory.contentSinceMs = nowMs;
    memory.otherAtMs = memory.lookedAtMs ?? 0;
  }
  memory.lookedAtMs = clock.wallMs();
  metrics.configValid(reading.ok);
  const type = "ConfigValid";
  if (reading.ok) {
    board.set({ type, status: "True", reason: "Valid", message: `${parts.place.layout().configPath} can be used.` });
    return { again: false };
  }
  const { reason, message } = reading.problem;
  const said = { type, status: "False", reason } as const;
  const isOwedStart = memory.restart === undefined && owesStart(parts);
  const good = isUselessToNode(reason) ? await lastGood(isOwedStart, parts) : undefined;
  if (good === undefined || !good.ok) {
    const stays = good === undefined ? "The last good one stays in force." : notRestored(good.why, parts);
    board.set({ ...said, message: `${message} ${stays}` });
    return { again: false };
  }
  const seenForMs = nowMs - memory.contentSinceMs;
  const changedAgoMs = hasHeld(parts.clockThen, clock) ? clock.wallMs() - (reading.changedAtMs ?? Infinity) : 0;
  const standsForMs = Math.max(seenForMs, changedAgoMs);
  const waitMs = isOwedStart ? 0 : settings.upkeep.restoreAfterMs - standsForMs;
  const at = new Date(clock.wallMs() + Math.max(0, waitMs)).toISOString();
  const then = `The last good one stays in force, and is written back at ${at} unless the file changes before.`;
  board.set({ ...said, message: `${message} ${then}` });
  return waitMs > 0 ? { again: false, wakeInMs: waitMs } : writeBack(reading, good.content, memory, parts);
}

/** Whether the node is down by the sidecar's own doing, and has to be started. */
function owesStart({ state }: UpkeepParts): boolean {
  return state.restartInFlight.get()?.phase === "commanded" || state.retry.get() !== undefined;
}

/** What may be written back, if the sidecar is to act; or why it may not, because it is not this node's. */
async function lastGood(
  isOwedStart: boolean,
  { settings, state, versions, place }: UpkeepParts,
): Promise<Readonly<{ ok: true; content: Uint8Array } | { ok: false; why: string }> | undefined> {
  const { mode, restoreAfterMs } = settings.upkeep;
  if (authorityOf(mode, state) !== "acts" || restoreAfterMs === 0) return undefined;
  // A hold keeps from beginning anything, not from ending a restart that left the node down.
  if (state.hold.get() !== undefined && !isOwedStart) return undefined;
  const content = (await versions.recall("last-good")) ?? (await versions.recall("healthy"));
  if (content === undefined || !parseConfig(content).ok) return undefined;
  const judged = restorable(content, place.layout().configPath, {}, state);
  return judged.ok ? { ok: true, content } : judged;
}

function notRestored(why: string, { state }: UpkeepParts): string {
  return `The last good copy in ${state.directory} is not written back: ${why}. Put node.conf right by hand.`;
}

async function writeBack(
  reading: Extract<ConfigReading, { ok: false }>,
  content: Uint8Array,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<Judgement> {
  const { settings, state, versions, events, board, health } = parts;
  const path = parts.place.layout().configPath;
  const { contentHash: expectedHash, problem } = reading;
  // A node that answers can't have started with what no node can read: it still has what it had. One that is down may need a start.
  if (!isAnswering(health.facts()) || !unreadableToNode.has(problem.reason)) state.nodeHas.set("unknown");
  const written = await writeWithDeadline(
    { path, limitBytes: settings.upkeep.configLimitBytes, expectedHash, expectedProblem: problem.reason, content },
    { patience: parts.place.patience, lock: parts.place.lock(), versions },
  );
  if (written.ok) {
    events.add("write", `${basename(path)}: restored to the last good content.`, problem.message);
    return { again: true };
  }
  if (written.reason === "ChangedMeanwhile") return { again: true };
  const message =
    written.reason === "Locked" ? `node.conf can't be used, and is not put back: ${locked}.` : written.message;
  memory.configCurrent = { type: "ConfigCurrent", status: "False", reason: written.reason, message };
  board.set(memory.configCurrent);
  return { again: false, written };
}
