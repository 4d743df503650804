import { isAnswering, type NodeInfo, type NodeHealth } from "#health/node-health.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { ReleaseCommits } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { isBetweenVersions, isUpgradeInFlight, type Authority } from "../adoption/authority.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { HostNodeBefore } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { hasPower, type PortHolders } from "./node-power.ts";
import { listNodeWarnings, readKnownBlock } from "../../upgrade/node-before.ts";
import type { NodeRpc } from "../../upgrade/node-rpc.ts";
import { identifyNode } from "./prove-version.ts";

export type CheckNodeDependencies = Readonly<{
  settings: SidecarSettings;
  state: UpkeepState;
  driver: NodeDriver | undefined;
  observer: Readonly<{ pruneInfo: () => PruneInfo | undefined }>;
  health: Readonly<{ current: () => NodeHealth; facts: () => NodeInfo }>;
  budget: Pick<RestartBudget, "allows">;
  rpc: NodeRpc;
  commits: () => ReleaseCommits;
  holders: Pick<PortHolders, "now">;
  authority: () => Authority;
  isRestarting: () => boolean;
  signal: AbortSignal;
}>;

/** Dependencies for checking whether an upgrade may start. */
export type WhyNotNowDependencies = Pick<
  CheckNodeDependencies,
  "driver" | "state" | "authority" | "isRestarting" | "budget"
> &
  Readonly<{ settings: Readonly<{ restart: Pick<SidecarSettings["restart"], "driver"> }> }>;

/**
 * Determines why the sidecar may not upgrade its node now, regardless of the new version.
 *
 * @param isRestore whether this is a restore, which the operator requests because restarts didn't help: neither a pause nor the budget
 * blocks it.
 * @param isPreCopied whether the upgrade is already in progress and the node's data has been copied.
 */
export function* findObstacles(
  { driver, state, authority, isRestarting, budget, settings }: WhyNotNowDependencies,
  { isRestore = false, isPreCopied = false }: Readonly<{ isRestore?: boolean; isPreCopied?: boolean }> = {},
): Generator<string> {
  if (!hasPower(driver)) {
    yield `restart.driver is ${settings.restart.driver}, which can't stop the node and leave it stopped; only ops can. In a container, the image is the version: change nodeImage and run pulumi up`;
  }
  if (authority() !== "acts") yield "the sidecar may not act on this node yet (Adopted says why)";
  if (!isRestore && state.hold.get() !== undefined) yield "a hold is in force (NotPaused says how it ends)";
  if (isPreCopied ? isBetweenVersions(state) : isUpgradeInFlight(state)) yield "an upgrade is under way";
  if (isRestarting() || state.restartInFlight.get() !== undefined)
    yield "the node is being restarted; try again when that has ended";
  if (!state.store.isWritable()) yield "the sidecar can't keep its state (StateWritable says why)";
  if (!isRestore && !budget.allows("ordinary"))
    yield "the restart budget of this hour is used up (restart.budgetPerHour)";
}

/** Reads the facts about the running node that are used to verify either version; undefined if the node doesn't respond. */
export async function readNodeBefore({
  health,
  observer,
  settings,
  rpc,
  holders,
  commits,
  signal,
}: CheckNodeDependencies): Promise<HostNodeBefore | undefined> {
  const now = health.current();
  const { height } = now;
  if (height === undefined || !isAnswering(health.facts())) return undefined;
  const block = await readKnownBlock(height, rpc.blockHash, signal);
  const tellsVersion = identifyNode(now, settings.node.clientName, commits()) !== undefined;
  const autoPrune = observer.pruneInfo()?.autoPrune === true;
  const [process] = await holders.now();
  return { height, autoPrune, tellsVersion, block, process };
}

/** Finds warnings for the operator about the running node before it is stopped. */
export async function findNodeWarnings(
  before: HostNodeBefore | undefined,
  {
    health,
    rpc,
    signal,
  }: Pick<CheckNodeDependencies, "rpc" | "signal"> &
    Readonly<{ health: Pick<CheckNodeDependencies["health"], "current" | "facts"> }>,
): Promise<readonly string[]> {
  const { syncing } = health.current();
  const { height, lag } = health.facts();
  return [
    ...listNodeWarnings(before, await rpc.peers(signal)),
    ...(typeof syncing === "object" && syncing !== null ? ["the node is still syncing (eth_syncing)"] : []),
    ...[height, lag].flatMap((fault) => (typeof fault === "object" ? [fault.message] : [])),
  ];
}
