import type { Logger } from "#daemon/log.ts";
import { isAnswering, type NodeFacts } from "#health/node-facts.ts";
import type { ConfigVersions } from "../config/config-versions.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { KeptConfig, ObservedRestarts, RollBackFinding } from "./restart-observation.ts";
import { keptHealthy } from "./running-config.ts";

/** What there is to go back to is judged by. */
export type RollBackSituation = Readonly<{
  /** Whether the sidecar restarts the node at all. */
  restarts: boolean;
  /** Whether the node is known not to have read what stands in node.conf. */
  isUnread: boolean;
  facts: NodeFacts;
}>;

/** Notes whether there is a node.conf to go back to when the node does not come back after a restart. */
export async function noteRollBack(
  situation: RollBackSituation,
  seen: ObservedRestarts,
  {
    state,
    versions,
    log,
  }: Readonly<{
    state: Pick<UpkeepState, "directory" | "healthy" | "nodeHas" | "store">;
    versions: ConfigVersions;
    log: Logger;
  }>,
): Promise<void> {
  if (state.store.failure() !== undefined) return;
  const kept = seen.now().kept ?? (await keptHealthy({ state, versions, log }));
  seen.note({ kept, rollBack: rollBackFinding(kept, situation, state) });
}

function rollBackFinding(
  { hash, proof, failedUntilMs }: KeptConfig,
  { restarts, isUnread, facts }: RollBackSituation,
  { directory, nodeHas }: Pick<UpkeepState, "directory" | "nodeHas">,
): RollBackFinding {
  if (!restarts) return { kind: "noRestarts" };
  if (failedUntilMs !== undefined) return { kind: "notKept", directory };
  if (proof === "advanced") return { kind: "advanced", directory };
  if (hash !== undefined) return { kind: "assumed", directory };
  if (!isAnswering(facts) && nodeHas.get() !== "unknown") return { kind: "nothing", because: "notYet" };
  return { kind: "nothing", because: isUnread ? "unread" : "unknown" };
}
