import { saveHealthyConfig, loadStoredConfig } from "../config/healthy-config.ts";
import { hashContent, type ConfigReading, type UsableReading } from "../config/config-file.ts";
import { isResponding } from "#health/rpc-state.ts";
import { hasNodeStarted } from "./node-start.ts";
import { matchesFingerprint, fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import type { NodeVersion } from "#node/versions.ts";
import type { HealthEvidence } from "../state/upkeep-state.ts";
import type { RestartContext } from "./restart-context.ts";
import { isUnread, type StoredConfig } from "./restart-observation.ts";

/** Interval for querying the driver about the node's start, while the start is unknown or precedes the last change to node.conf. */
const checkAgainMs = 30_000;

/**
 * Once the running node has advanced with the node.conf that it read, stores it, so that even the first restart can be rolled back. If it
 * is unknown whether the node read this content, stores it as assumed, never over a verified one; not at all if the node started before the
 * content.
 */
export async function recordRunningConfig(
  reading: ConfigReading,
  version: NodeVersion | undefined,
  context: RestartContext,
): Promise<void> {
  const { config, process, restarts, state, health, clock } = context;
  if (!reading.ok || restarts.now().running !== undefined || !isResponding(health.facts())) {
    return restarts.note({ advancing: undefined });
  }
  // The copy is on the same disk as the state, so writing it now would throw or hang.
  if (state.store.failure() !== undefined) return;
  const nodeHas = state.nodeHas.get();
  const { document } = reading;
  if (nodeHas === undefined || nodeHas === "unknown" || !matchesFingerprint(nodeHas, document, version)) return;
  await recordStart(reading, context);
  const known = state.startedWith.get();
  const isKnown = known !== undefined && matchesFingerprint(known, document, version);
  const proof: HealthEvidence = isKnown && checkAdvanced(reading, context) ? "advanced" : "assumed";
  const kept = restarts.now().kept ?? (await readStoredHealthy(context));
  restarts.note({ kept });
  if (proof === "assumed" && isUnread(process.now(), config.now().contentHash)) return;
  const isNew = kept.hash === undefined || (kept.hash !== reading.contentHash && !isWeaker(proof, kept.proof));
  if (!isNew && (kept.hash !== reading.contentHash || kept.proof === proof || isWeaker(proof, kept.proof))) return;
  if (clock.monotonicMs() < (kept.failedUntilMs ?? 0)) return;
  const isKept = await saveHealthyConfig(reading.bytes, proof, context);
  restarts.note({
    kept: isKept
      ? { hash: reading.contentHash, proof }
      : { ...kept, failedUntilMs: clock.monotonicMs() + checkAgainMs },
  });
}

function isWeaker(proof: HealthEvidence, than: HealthEvidence | undefined): boolean {
  return proof === "assumed" && than === "advanced";
}

/** Reads the hash and proof of the retained configuration; returns an empty object if it is missing or unreadable. */
export async function readStoredHealthy(context: RestartContext): Promise<StoredConfig> {
  const bytes = await loadStoredConfig("healthy", context);
  if (bytes === undefined) return {};
  const hash = hashContent(bytes);
  const evidence = context.state.healthy.get();
  // Older versions retained only verified configurations in their state.
  return { hash, proof: evidence === undefined ? "advanced" : evidence.hash === hash ? evidence.proof : "assumed" };
}

async function recordStart(
  { contentHash, changedAtMs, document }: UsableReading,
  context: RestartContext,
): Promise<void> {
  const { process, state, health, clock } = context;
  if (state.startedWith.get() !== undefined) return;
  const nowMs = clock.monotonicMs();
  const { startedAfterMs } = health.current();
  const start = process.now().requestedStart;
  const isSame = start?.contentHash === contentHash && start.startedAfterMs === startedAfterMs;
  if (start !== undefined && isSame && nowMs - start.atMs < checkAgainMs) return;
  const now = { contentHash, startedAfterMs, atMs: nowMs };
  process.note({ requestedStart: now });
  const nodeStarted = await hasNodeStarted(changedAtMs, context);
  process.note({ requestedStart: { ...now, nodeStarted } });
  if (nodeStarted === "after") state.startedWith.set(fingerprintConfig(document));
}

/** Records the height at which this content was first seen active. Returns whether the height has risen since, or the references have no later block. */
function checkAdvanced({ contentHash }: UsableReading, { restarts, health }: RestartContext): boolean {
  const { height } = health.current();
  const facts = health.facts();
  const advancingBefore = restarts.now().advancing;
  const advancingConfig = advancingBefore?.contentHash === contentHash ? advancingBefore : { contentHash, height };
  restarts.note({ advancing: advancingConfig });
  if (facts.chain === "another") return false;
  const from = advancingConfig.height;
  const hasRisen = height !== undefined && from !== undefined && height > from;
  return hasRisen || facts.height === "idle";
}
