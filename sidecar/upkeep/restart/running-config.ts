import { saveHealthyConfig, loadHealthyConfig } from "../config/healthy-config.ts";
import { contentHashOf, type ConfigReading } from "../config/config-file.ts";
import { isAnswering } from "#health/node-facts.ts";
import { nodeBegan } from "./node-began.ts";
import { hasSameMeaning, meaningOf } from "#node/conf/meaning.ts";
import type { HealthyProof } from "../state/upkeep-state.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

type UsableReading = Extract<ConfigReading, { ok: true }>;

/** How often it is asked when the node began, while that is not known or was before the last change of node.conf. */
const askAgainMs = 30_000;

/**
 * Remembers what the node runs with, while it runs: the node.conf in force, not one that was changed since, once the node has advanced with it.
 * So there is something to go back to before the sidecar has ever restarted the node. Where nobody can tell whether the node started with what
 * stands there, it is remembered as assumed, and never in the place of one that was seen to work; not at all where the node is known to have
 * begun before it.
 */
export async function recordRunningConfig(
  reading: ConfigReading,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<void> {
  const { state, observer, health, clock } = parts;
  if (!reading.ok || memory.restart !== undefined || !isAnswering(health.facts())) {
    memory.advancing = undefined;
    return;
  }
  // The same disk: what can't be written now would throw, or hang.
  if (state.store.failure() !== undefined) return;
  const nodeHas = state.nodeHas.get();
  const { document } = reading;
  const { version } = observer.version();
  if (nodeHas === undefined || nodeHas === "unknown" || !hasSameMeaning(nodeHas, document, version)) return;
  await noteStart(reading, memory, parts);
  const known = state.startedWith.get();
  const isKnown = known !== undefined && hasSameMeaning(known, document, version);
  const proof: HealthyProof = isKnown && advances(reading, memory, parts) ? "advanced" : "assumed";
  memory.kept ??= await keptHealthy(parts);
  const { kept } = memory;
  if (proof === "assumed" && isUnread(memory)) return;
  const isNew = kept.hash === undefined || (kept.hash !== reading.contentHash && !isWeaker(proof, kept.proof));
  if (!isNew && (kept.hash !== reading.contentHash || kept.proof === proof || isWeaker(proof, kept.proof))) return;
  if (clock.monotonicMs() < (kept.failedUntilMs ?? 0)) return;
  const isKept = await saveHealthyConfig(reading.bytes, proof, parts);
  memory.kept = isKept
    ? { hash: reading.contentHash, proof }
    : { ...kept, failedUntilMs: clock.monotonicMs() + askAgainMs };
}

/** Whether the node is known not to have read what stands there: it began long before that came, so that nobody knows what it runs with. */
export function isUnread({ startAsked, contentHash }: Pick<UpkeepMemory, "startAsked" | "contentHash">): boolean {
  return startAsked?.began === "before" && startAsked.contentHash === contentHash;
}

function isWeaker(proof: HealthyProof, than: HealthyProof | undefined): boolean {
  return proof === "assumed" && than === "advanced";
}

/** What is remembered now; nothing, where it can't be read. */
export async function keptHealthy(parts: UpkeepParts): Promise<NonNullable<UpkeepMemory["kept"]>> {
  const bytes = await loadHealthyConfig(parts);
  if (bytes === undefined) return {};
  const hash = contentHashOf(bytes);
  const healthy = parts.state.healthy.get();
  // State of an older version remembered only what was proved.
  return { hash, proof: healthy === undefined ? "advanced" : healthy.hash === hash ? healthy.proof : "assumed" };
}

/** Finds out whether the node began with what stands there. */
async function noteStart(
  { contentHash, changedAtMs, document }: UsableReading,
  memory: UpkeepMemory,
  parts: UpkeepParts,
): Promise<void> {
  const { state, health, clock } = parts;
  if (state.startedWith.get() !== undefined) return;
  const nowMs = clock.monotonicMs();
  const { startedAfterMs } = health.current();
  const asked = memory.startAsked;
  const isSame = asked?.contentHash === contentHash && asked.startedAfterMs === startedAfterMs;
  if (asked !== undefined && isSame && nowMs - asked.atMs < askAgainMs) return;
  const now = { contentHash, startedAfterMs, atMs: nowMs };
  memory.startAsked = now;
  const began = await nodeBegan(changedAtMs, memory, parts);
  memory.startAsked = { ...now, began };
  if (began === "after") state.startedWith.set(meaningOf(document));
}

/** Whether the height has risen since this content was first seen in force, or the references have no block after it. */
function advances({ contentHash }: UsableReading, memory: UpkeepMemory, { health }: UpkeepParts): boolean {
  const { height } = health.current();
  const facts = health.facts();
  if (memory.advancing?.contentHash !== contentHash) memory.advancing = { contentHash, height };
  if (facts.chain === "another") return false;
  const from = memory.advancing.height;
  const hasRisen = height !== undefined && from !== undefined && height > from;
  return hasRisen || facts.height === "idle";
}
