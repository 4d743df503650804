import { basename, join } from "node:path";
import type { ConfigContext } from "./config-context.ts";
import { deriveConfigReconciled, type ConfigWriteResult, type OtherWriter } from "./config-observation.ts";
import { replaceConfig } from "./config-writer.ts";
import type { ConfigReading, UsableReading } from "./config-file.ts";
import { fingerprintConfig, matchesFingerprint } from "#node/conf/config-fingerprint.ts";
import { encodeConfig, parseConfig } from "#node/conf/document.ts";
import { formatChange } from "#node/conf/monitor-change.ts";
import { findWrite, type Plan } from "../plan/plan.ts";
import type { NodeVersion } from "#node/versions.ts";

/** Outcome of the planned write. `again`: the file must be re-read at once. */
type AppliedConfig = Readonly<{ result?: ConfigWriteResult; again: boolean }>;

export async function applyConfig(
  planned: Plan,
  reading: UsableReading,
  version: NodeVersion | undefined,
  context: ConfigContext,
): Promise<AppliedConfig> {
  const { config, place, rate, metrics } = context;
  const action = findWrite(planned);
  if (action === undefined) return { again: false };
  const content = encodeConfig(reading.document, action.text);
  forgetLoadedConfig(reading, version, context);
  const name = basename(place.layout().configPath);
  const changes = action.changes.map((change) => ({
    message: `${name}: ${formatChange(change)}.`,
    why: change.reason,
  }));
  const restartMs = findRestart(reading, context);
  const result = await replaceConfig(reading, content, changes, context);
  if (!result.ok) return { result, again: result.reason === "ChangedMeanwhile" };
  // A failed write doesn't count as a reverted correction.
  const correctedConfig = parseConfig(content);
  rate.record(
    reading.contentHash,
    correctedConfig.ok ? { fingerprint: fingerprintConfig(correctedConfig.document), restartMs } : undefined,
  );
  config.note({ corrected: action.changes.map(formatChange) });
  metrics.corrected();
  return { result, again: true };
}

function findRestart({ changedAtMs }: UsableReading, { budget, clock }: ConfigContext): number | undefined {
  const { beganMs = Infinity, endedMs = Infinity } = budget.last() ?? {};
  const changedMs = clock.monotonicMs() - (clock.wallMs() - changedAtMs);
  return changedMs >= beganMs && changedMs <= endedMs ? beganMs : undefined;
}

/** Whether the node's own start script overwrites this content each time, in which case a restart wouldn't apply it. */
function isUndoneByStart(
  { document }: UsableReading,
  version: NodeVersion | undefined,
  { rate, state }: ConfigContext,
): boolean {
  const undoneFingerprint = rate.revertedByStart();
  if (undoneFingerprint === undefined || !matchesFingerprint(undoneFingerprint, document, version)) return false;
  // Once the node has read the correct content, its start script writes that content itself.
  return !matchesFingerprint(state.nodeHas.get() ?? "unknown", document, version);
}

/** Records, before a write, that the node may have read the current content, so that a kill right after the write doesn't lose this. */
function forgetLoadedConfig(
  { document, changedAtMs }: UsableReading,
  version: NodeVersion | undefined,
  { config, state }: ConfigContext,
): void {
  const nodeHas = state.nodeHas.get();
  if (nodeHas === undefined || nodeHas === "unknown") return;
  if (matchesFingerprint(nodeHas, document, version)) return;
  config.note({ previousFingerprint: { fingerprint: nodeHas, untilMs: changedAtMs } });
  state.nodeHas.set("unknown");
}

/**
 * Records whether node.conf is as desired and whether another program writes it; stores correct content. `idle`: why nothing was written.
 */
export async function compareConfig(
  planned: Plan,
  reading: ConfigReading,
  applied: AppliedConfig | undefined,
  idle: string | undefined,
  version: NodeVersion | undefined,
  context: ConfigContext,
): Promise<void> {
  const { config } = context;
  const result = applied?.result;
  config.note({ otherWriter: findOtherWriter(reading, version, context) });
  if (result?.ok === true || applied?.again === true || !reading.ok) return;
  config.note({ comparison: { planned, result, idle } });
  if (deriveConfigReconciled(config.now())?.status === "True" && config.now().goodHash !== reading.contentHash) {
    await saveGoodConfig(reading, context);
  }
}

/** Retains good content. A failure is only reported: it must not prevent the completion of a restart that left the node down. */
async function saveGoodConfig(
  { bytes, contentHash }: UsableReading,
  { config, versions, state }: ConfigContext,
): Promise<void> {
  try {
    await versions.remember("last-good", bytes);
    config.note({ goodHash: contentHash, goodNotKept: undefined });
  } catch (error) {
    const keepFailure =
      `node.conf can't be backed up to ${join(state.directory, "last-good.conf")} (${(error as Error).message}): if it becomes ` +
      `unusable, only an older backup, if any, can be restored. Make ${state.directory} writable, and free space there (df, df -i).`;
    config.note({ goodNotKept: keepFailure });
  }
}

function findOtherWriter(
  reading: ConfigReading,
  version: NodeVersion | undefined,
  context: ConfigContext,
): OtherWriter | undefined {
  const { rate, clock, place } = context;
  const { configPath: path } = place.layout();
  if (reading.ok && isUndoneByStart(reading, version, context)) return { kind: "start", path };
  const contestedUntilMs = rate.contestedUntilMs();
  const untilMs = contestedUntilMs ?? rate.repeatedUntilMs();
  if (untilMs === undefined) return undefined;
  return {
    kind: "contested",
    perMinute: contestedUntilMs === undefined ? undefined : rate.perMinute(),
    untilMs: clock.wallMs() + untilMs - clock.monotonicMs(),
    path,
  };
}
