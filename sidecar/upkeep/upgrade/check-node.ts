import { isResponding } from "#health/rpc-state.ts";
import { isBetweenVersions } from "../adoption/authority.ts";
import type { StateStore } from "../state/state-store.ts";
import type { HostNodeBaseline } from "../state/upgrade-record.ts";
import { canStopAndStart } from "./stop-and-start.ts";
import { listNodeWarnings, readKnownBlock } from "../../upgrade/node-baseline.ts";
import type { UpgradeContext } from "./upgrade-context.ts";
import { identifyNode } from "./verify-version.ts";

/** Determines why the sidecar may not upgrade its node now, regardless of the new version. */
export function* findUpgradeObstacles(context: UpgradeContext): Generator<string> {
  const { driver, state, authority, isRestarting, budget, settings } = context;
  if (!canStopAndStart(driver)) {
    yield `restart.driver is ${settings.restart.driver}, which can't leave the node stopped; only ops can. In a container, the image is the version: run gatehouse upgrade --stack`;
  }
  if (authority() !== "acts") yield "the sidecar may not act on this node yet (see NotPaused)";
  if (state.hold.get() !== undefined) yield "Gatehouse is paused (see NotPaused)";
  if (isBetweenVersions(state)) yield "an upgrade is in progress";
  if (isRestarting() || state.restartInFlight.get() !== undefined)
    yield "the node is being restarted; retry after that";
  if (!state.store.isWritable()) yield "the sidecar can't store its state (see Reconciling)";
  if (!budget.allows("ordinary")) yield budget.explainExhausted("ordinary");
}

/** Explains why an upgrade in progress can't continue, and the remedy; undefined if it can. */
export function explainBlockedUpgrade({ authority, driver, state }: UpgradeContext): string | undefined {
  if (authority() === "observes") return "It is blocked: upkeep.mode is observe; restore its previous value.";
  if (authority() === "waits") return "It is blocked: the sidecar waits for gatehouse adopt.";
  if (!canStopAndStart(driver))
    return "It is blocked: restart.driver can't stop and start the node; set it back to ops.";
  return explainStoreFailure(state.store);
}

/**
 * Explains why steps can't be recorded. After a kill, an unrecorded step would be mistaken for another: a verified version would be rolled
 * back, or old data restored twice.
 */
export function explainStoreFailure({ failure }: Pick<StateStore, "failure">): string | undefined {
  const message = failure()?.message;
  return message && `It is blocked, because its progress can't be stored: ${message} It then continues automatically.`;
}

/** Reads the facts about the running node that are used to verify either version; undefined if the node doesn't respond. */
export async function readNodeBefore(context: UpgradeContext): Promise<HostNodeBaseline | undefined> {
  const { health, observer, settings, rpc, holders, commits, signal } = context;
  const now = health.current();
  const { height } = now;
  if (height === undefined || !isResponding(health.facts())) return undefined;
  const block = await readKnownBlock(height, rpc.blockHash, signal);
  const tellsVersion = identifyNode(now, settings.node.clientName, commits()) !== undefined;
  const autoPrune = observer.pruneInfo()?.autoPrune === true;
  const [process] = await holders.now();
  return { height, autoPrune, tellsVersion, block, process };
}

export async function findNodeWarnings(
  before: HostNodeBaseline | undefined,
  { health, rpc, signal }: UpgradeContext,
): Promise<readonly string[]> {
  const { syncing } = health.current();
  const { height, lag } = health.facts();
  return [
    ...listNodeWarnings(before, await rpc.peers(signal)),
    ...(typeof syncing === "object" && syncing !== null ? ["the node is still syncing (eth_syncing)"] : []),
    ...[height, lag].flatMap((fault) => (typeof fault === "object" ? [fault.message] : [])),
  ];
}
