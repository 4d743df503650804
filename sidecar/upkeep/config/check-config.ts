import { basename } from "node:path";
import type { Clock } from "#daemon/clock.ts";
import { isAnswering, type NodeInfo } from "#health/rpc-state.ts";
import { parseConfig } from "#node/conf/document.ts";
import type { EventLog } from "#status/event-log.ts";
import type { ConfigReading } from "./config-file.ts";
import { isReplaceable, type ConfigProblemReason } from "#node/conf/problem.ts";
import type { ConfigValidity, ObservedConfig } from "./config-observation.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { ConfigWriteResult } from "./config-writer.ts";
import type { NodeLocation } from "./node-location.ts";
import { writeWithDeadline } from "./with-deadline.ts";
import { reportEdit, type EditRate } from "./audited-config.ts";
import { checkRestorable } from "./restorable.ts";
import { hasHeld, type ClockThen } from "../clock-reading.ts";
import type { Authority } from "../adoption/authority.ts";
import type { AuditedConfig, UpkeepState } from "../state/upkeep-state.ts";

/** Outcome of a check. `again`: the file has changed during the check; `wakeInMs`: time until the next check is due. */
export type Judgement = Readonly<{
  again: boolean;
  wakeInMs?: number;
  /** Set if restoring the last good content failed. */ written?: ConfigWriteResult;
}>;

/** Inputs that determine whether and when an unusable node.conf is replaced by the last good content. */
export type CheckConfigOptions = Readonly<{
  authority: Authority;
  /** `upkeep.restoreAfterMs`. */
  restoreAfterMs: number;
  limitBytes: number;
  /** Both clocks when the upkeep started. */
  clockThen: ClockThen;
  /** Whether the node is being restarted. */
  isRestarting: boolean;
  /** The last audited content, as of the time when this read of node.conf started. */
  auditedThen: AuditedConfig | undefined;
}>;

export type CheckConfigDependencies = Readonly<{
  place: Pick<NodeLocation, "layout" | "lock" | "fileDeadline">;
  versions: ConfigVersions;
  state: Pick<
    UpkeepState,
    "atomically" | "directory" | "hold" | "nodeHas" | "nodeValues" | "restartInFlight" | "retry" | "auditedConfig"
  >;
  health: Readonly<{ facts: () => NodeInfo }>;
  events: EventLog;
  edits: EditRate;
  metrics: Readonly<{ configValid: (isValid: boolean) => void }>;
  clock: Clock;
}>;

/** Problems with which no node can start. */
const unreadableToNode: ReadonlySet<ConfigProblemReason> = new Set(["FileMissing", "Empty", "NotText", "Truncated"]);

/**
 * Records whether node.conf is usable. While it is unusable, the last good content stays in effect. If the file doesn't change for
 * `upkeep.restoreAfterMs`, the last good content is restored and the unusable content is kept among the versions: a node that restarts on
 * its own, e.g. after a crash, couldn't start with it. An operator who is editing the file has this much time after each save, and
 * ConfigReconciled reports the deadline. If the sidecar was killed during a restart and thus left the node down itself, it restores without
 * waiting.
 */
export async function checkConfig(
  reading: ConfigReading,
  config: ObservedConfig,
  options: CheckConfigOptions,
  dependencies: CheckConfigDependencies,
): Promise<Judgement> {
  const { place, metrics, clock } = dependencies;
  recordContent(reading, config, clock);
  const { contentSinceMs, lastUsable } = config.now();
  const standsForMs = clock.monotonicMs() - contentSinceMs;
  const { auditedThen } = options;
  const edit = { path: place.layout().configPath, auditedThen, standsForMs, lastUsable };
  await reportEdit(reading, edit, dependencies);
  metrics.configValid(reading.ok);
  const say = (validity: ConfigValidity) => config.note({ validity });
  if (reading.ok) {
    say({ ok: true, path: place.layout().configPath });
    return { again: false };
  }
  const { problem } = reading;
  const isOwedStart = !options.isRestarting && needsStart(dependencies);
  const good = isReplaceable(problem.reason) ? await findLastGood(isOwedStart, options, dependencies) : undefined;
  if (good === undefined || !good.ok) {
    const next =
      good === undefined ? "stays" : { notRestored: explainNotRestored(good.why, dependencies.state.directory) };
    say({ ok: false, problem, next });
    return { again: false };
  }
  const seenForMs = clock.monotonicMs() - config.now().contentSinceMs;
  const changedAgoMs = hasHeld(options.clockThen, clock) ? clock.wallMs() - (reading.changedAtMs ?? Infinity) : 0;
  const waitMs = isOwedStart ? 0 : options.restoreAfterMs - Math.max(seenForMs, changedAgoMs);
  say({ ok: false, problem, next: { restoredAtMs: clock.wallMs() + Math.max(0, waitMs) } });
  if (waitMs > 0) return { again: false, wakeInMs: waitMs };
  // The content may have been there long before the sidecar saw it, and is about to be replaced.
  await reportEdit(reading, { ...edit, standsForMs: Infinity }, dependencies);
  return writeBack(reading, good.content, { config, limitBytes: options.limitBytes }, dependencies);
}

/** Records the content, and since when it has not changed. */
function recordContent(reading: ConfigReading, config: ObservedConfig, clock: Clock): void {
  const before = config.now();
  const { contentHash } = reading;
  const problemReason = reading.ok ? undefined : reading.problem.reason;
  const isAnother = contentHash !== before.contentHash || problemReason !== before.problemReason;
  if (isAnother || before.contentSinceMs === 0) {
    const otherAtMs = before.lookedAtMs ?? 0;
    config.note({ contentHash, problemReason, contentSinceMs: clock.monotonicMs(), otherAtMs });
  }
  config.note({ lookedAtMs: clock.wallMs() });
}

/** Whether the sidecar itself left the node down and must start it. */
function needsStart({ state }: Pick<CheckConfigDependencies, "state">): boolean {
  return state.restartInFlight.get()?.phase === "commanded" || state.retry.get() !== undefined;
}

/** Finds the content to restore, or the reason why it may not belong to this node; undefined if there is none or no change is allowed. */
async function findLastGood(
  isOwedStart: boolean,
  { authority, restoreAfterMs }: CheckConfigOptions,
  { state, versions, place }: Pick<CheckConfigDependencies, "state" | "versions" | "place">,
): Promise<Readonly<{ ok: true; content: Uint8Array } | { ok: false; why: string }> | undefined> {
  if (authority !== "acts" || restoreAfterMs === 0) return undefined;
  // A pause blocks new work, but does not block the completion of a restart that left the node down.
  if (state.hold.get() !== undefined && !isOwedStart) return undefined;
  const content = (await versions.recall("last-good")) ?? (await versions.recall("healthy"));
  if (content === undefined || !parseConfig(content).ok) return undefined;
  const judged = checkRestorable(content, place.layout().pathsDirectory, {}, state);
  return judged.ok ? { ok: true, content } : judged;
}

function explainNotRestored(why: string, directory: string): string {
  return `The last good copy in ${directory} is not restored: ${why}. Fix node.conf manually.`;
}

async function writeBack(
  reading: Extract<ConfigReading, { ok: false }>,
  content: Uint8Array,
  { config, limitBytes }: Readonly<{ config: ObservedConfig; limitBytes: number }>,
  { place, state, versions, events, health }: CheckConfigDependencies,
): Promise<Judgement> {
  const path = place.layout().configPath;
  const { contentHash: expectedHash, problem } = reading;
  // A node that responds can't have started with content that no node can read, so it still runs with the previous content. A node that is
  // down may need to be started.
  if (!isAnswering(health.facts()) || !unreadableToNode.has(problem.reason)) state.nodeHas.set("unknown");
  const changes = [{ message: `${basename(path)}: restored to the last good version.`, why: problem.message }];
  const written = await writeWithDeadline(
    { path, limitBytes, expectedHash, expectedProblem: problem.reason, content, changes },
    { fileDeadline: place.fileDeadline, lock: place.lock(), versions, events, state },
  );
  if (written.ok || written.reason === "ChangedMeanwhile") return { again: true };
  const message = `It is not restored: ${written.message}`;
  config.note({ validity: { ok: false, problem, next: { failure: written.reason, message } } });
  return { again: false, written };
}
