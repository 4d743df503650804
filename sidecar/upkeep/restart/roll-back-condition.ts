import { join } from "node:path";
import type { ConditionReport } from "#status/condition.ts";
import { isAnswering } from "#health/node-facts.ts";
import { isUnread, keptHealthy } from "./running-config.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/** Says whether there is a node.conf to go back to when the node does not come back after a restart. */
export async function setRollBackCondition(memory: UpkeepMemory, parts: UpkeepParts): Promise<void> {
  if (parts.state.store.failure() !== undefined) return;
  memory.kept ??= await keptHealthy(parts);
  parts.board.set(rollBackReady(memory.kept, memory, parts));
}

function rollBackReady(
  { hash, proof, failedUntilMs }: NonNullable<UpkeepMemory["kept"]>,
  memory: UpkeepMemory,
  { settings, state, driver, health }: UpkeepParts,
): ConditionReport {
  const type = "RollBackReady";
  if (driver === undefined || settings.upkeep.mode === "observe") {
    const message = "The sidecar does not restart the node (restart.driver, upkeep.mode), so it never has to go back.";
    return { type, status: "Unknown", reason: "NoRestarts", message };
  }
  const path = join(state.directory, "healthy.conf");
  if (failedUntilMs !== undefined) {
    const message = `What the node runs with can't be kept in ${path}: a restart that fails could not be rolled back to it. Make ${state.directory} writable, and free some space there.`;
    return { type, status: "False", reason: "NotKept", message };
  }
  if (proof === "advanced") {
    const message = `A restart that fails is rolled back to what the node advanced with, ${path}.`;
    return { type, status: "True", reason: "Kept", message };
  }
  if (hash !== undefined) {
    const message = `A restart that fails is rolled back to ${path}, which stood there while the node answered. Whether the node had started with it can't be told: it changed after the node's start, or nothing tells when that was.`;
    return { type, status: "Unknown", reason: "Assumed", message };
  }
  if (!isAnswering(health.facts()) && state.nodeHas.get() !== "unknown") {
    const message = "Nothing is kept to go back to yet: the node has not answered since the sidecar knows it.";
    return { type, status: "Unknown", reason: "NotYet", message };
  }
  const why = isUnread(memory)
    ? "node.conf was changed long after the node had started and read it, and nobody knows what stood there then"
    : "No node.conf is known with which this node runs";
  const message = `${why}: a restart that fails can't be rolled back. Restart the node by hand with one that works: it is kept as soon as the node answers.`;
  return { type, status: "False", reason: "NothingKept", message };
}
