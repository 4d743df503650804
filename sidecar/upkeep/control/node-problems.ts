import { isAnswering, type NodeFacts } from "#health/node-health.ts";
import { isBetweenVersions } from "../adoption/authority.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";

export type NodeProblemsDependencies = Readonly<{
  health: Readonly<{ facts: () => NodeFacts }>;
  state: Pick<UpkeepState, "hold" | "restartInFlight" | "scheduledUpgrade" | "upgrade">;
  isRestarting: () => boolean;
}>;

/**
 * Finds reasons not to stop another node now: this one does not serve, or is worked on. A restart budget that is used up is no such reason: it says
 * nothing about how the node is.
 */
export function* findNodeProblems({ health, state, isRestarting }: NodeProblemsDependencies): Generator<string> {
  const facts = health.facts();
  const { rpc, chain, height, lag } = facts;
  if (!isAnswering(facts)) yield rpc?.fault?.message ?? "the node has not answered yet";
  if (chain === "another") yield "the node answers for another chain than node.chainId (ChainIdExpected says which)";
  for (const side of [height, lag]) if (typeof side === "object") yield side.message;
  if (state.hold.get() !== undefined) yield "a hold is in force (Unheld says how it ends)";
  if (isBetweenVersions(state)) yield "an upgrade is under way (UpgradeProved says how far it is)";
  if (isRestarting() || state.restartInFlight.get() !== undefined) yield "the node is being restarted";
  const scheduled = state.scheduledUpgrade.get();
  if (scheduled !== undefined && scheduled.notBegun === undefined) {
    yield `an upgrade to ${scheduled.to} is accepted and begins by itself`;
  }
}
