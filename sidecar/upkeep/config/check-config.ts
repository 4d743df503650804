import { basename } from "node:path";
import { isResponding } from "#health/rpc-state.ts";
import { parseConfig } from "#node/conf/document.ts";
import type { ConfigContext } from "./config-context.ts";
import type { ConfigReading } from "./config-file.ts";
import { preventsEachStart, trackContent } from "./content-times.ts";
import { isReplaceable } from "#node/conf/problem.ts";
import type { ConfigValidity, ConfigWriteResult } from "./config-observation.ts";
import { replaceConfig } from "./config-writer.ts";
import { reportEdit } from "./audited-config.ts";
import { checkRestorable } from "./healthy-config.ts";
import { isClockUnchanged } from "#daemon/clock.ts";
import type { Permissions } from "../adoption/authority.ts";
import type { AuditedConfig, UpkeepState } from "../state/upkeep-state.ts";

/** Outcome of a check. `again`: the file changed during the check; `wakeInMs`: time until the next check is due. */
export type Judgement = Readonly<{
  again: boolean;
  wakeInMs?: number;
  /** Result of restoring the last good content, if that failed. */ written?: ConfigWriteResult;
}>;

export type ConfigCheck = Readonly<{ reading: ConfigReading; auditedBefore: AuditedConfig | undefined }>;

/**
 * Records whether node.conf is usable. An unusable one that doesn't change for `upkeep.restoreAfterMs` is replaced with the last good one,
 * because a node that restarts on its own couldn't start with it. If the sidecar itself left the node down, it is replaced immediately.
 */
export async function checkConfig(
  { reading, auditedBefore }: ConfigCheck,
  authority: Permissions,
  context: ConfigContext,
): Promise<Judgement> {
  const { settings, config, place, state, metrics, clock, clockAtStart } = context;
  config.note(trackContent(config.now(), reading, clock));
  await reportEdit(reading, auditedBefore, context);
  metrics.configValid(reading.ok);
  const say = (validity: ConfigValidity) => config.note({ validity });
  if (reading.ok) {
    // An earlier comparison doesn't apply to new content, so the problem is reported until this content has been compared.
    if (config.now().validity?.ok === false) config.note({ comparison: undefined });
    say({ ok: true, path: place.layout().configPath });
    return { again: false };
  }
  const { problem } = reading;
  const isStartDue = !context.isRestarting() && needsStart(state);
  const good = isReplaceable(problem.reason) ? await findLastGood(isStartDue, authority, context) : undefined;
  if (good === undefined || !good.ok) {
    const next = good === undefined ? "stays" : { notRestored: explainNotRestored(good.why, state.directory) };
    say({ ok: false, problem, next });
    return { again: false };
  }
  const seenForMs = clock.monotonicMs() - config.now().contentSinceMs;
  const changedAgoMs = isClockUnchanged(clockAtStart, clock) ? clock.wallMs() - (reading.changedAtMs ?? Infinity) : 0;
  const waitMs = isStartDue ? 0 : settings.upkeep.restoreAfterMs - Math.max(seenForMs, changedAgoMs);
  say({ ok: false, problem, next: { restoredAtMs: clock.wallMs() + Math.max(0, waitMs) } });
  if (waitMs > 0) return { again: false, wakeInMs: waitMs };
  // The content may have been there long before the sidecar saw it, and is about to be replaced.
  await reportEdit(reading, auditedBefore, context, Infinity);
  return writeBack(reading, good.content, context);
}

/** Whether the sidecar itself left the node down and must start it. */
function needsStart({ restartInFlight, retry }: UpkeepState): boolean {
  return restartInFlight.get()?.phase === "commanded" || retry.get() !== undefined;
}

/** Finds the content to restore, or why it might belong to another node; undefined if there is nothing to restore or no change is allowed. */
async function findLastGood(
  isStartDue: boolean,
  authority: Permissions,
  { settings, state, versions, place }: ConfigContext,
): Promise<Readonly<{ ok: true; content: Uint8Array } | { ok: false; why: string }> | undefined> {
  if (authority !== "acts" || settings.upkeep.restoreAfterMs === 0) return undefined;
  // A pause blocks new work, but does not block the completion of a restart that left the node down.
  if (state.hold.get() !== undefined && !isStartDue) return undefined;
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
  context: ConfigContext,
): Promise<Judgement> {
  const { config, place, state, health } = context;
  const { problem } = reading;
  // A node that responds can't have started with unreadable content, so it is still running with the previous content. A node that is down
  // may need to be started.
  if (!isResponding(health.facts()) || !preventsEachStart(problem.reason)) state.nodeHas.set("unknown");
  const restored = `${basename(place.layout().configPath)}: restored to the last good version.`;
  const written = await replaceConfig(reading, content, [{ message: restored, why: problem.message }], context);
  if (written.ok || written.reason === "ChangedMeanwhile") return { again: true };
  const message = `It is not restored: ${written.message}`;
  config.note({ validity: { ok: false, problem, next: { failure: written.reason, message } } });
  return { again: false, written };
}
