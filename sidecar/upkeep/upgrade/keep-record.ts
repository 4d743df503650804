import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { deriveMeaning } from "#node/conf/meaning.ts";
import { readNodeValues } from "#node/conf/node-values.ts";
import { saveHealthyConfig } from "../config/healthy-config.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { Authority } from "../adoption/authority.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { StateStore } from "../state/state-store.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { Stage } from "../../upgrade/progress.ts";
import { hasPower } from "./node-power.ts";

/** Stages that start the node. Each charges the restart budget once. */
const starts: ReadonlySet<Stage> = new Set(["proving", "back-proving", "back-restarting"]);

/**
 * Saves an upgrade's progress and, if its next step starts the node, charges the restart budget, in one write: after a kill, the step is
 * resumed without being charged again.
 */
export function keepRecord(
  record: UpgradeRecord,
  state: Pick<UpkeepState, "atomically" | "upgrade">,
  budget: Pick<RestartBudget, "record">,
): void {
  const isEntered = state.upgrade.get()?.stage !== record.stage;
  state.atomically(() => {
    if (isEntered && starts.has(record.stage)) budget.record(`upgrade to ${record.to}`);
    state.upgrade.set(record);
  });
}

/** Explains why an upgrade in progress can't continue, and the remedy; undefined if it can. */
export function explainBlocked(
  authority: Authority,
  driver: NodeDriver | undefined,
  store: Pick<StateStore, "failure">,
): string | undefined {
  if (authority === "observes") return "It is blocked: upkeep.mode is observe; restore its previous value.";
  if (authority === "waits") return "It is blocked: the sidecar waits for gatehouse adopt.";
  if (!hasPower(driver)) return "It is blocked: restart.driver can't stop and start the node; set it back to ops.";
  return explainNotStored(store);
}

/**
 * Explains why an upgrade must not continue before its state is on disk; undefined if it is. After a kill, an unrecorded step would be
 * mistaken for another step: a verified version would be rolled back, or old data would be restored over itself.
 */
export function explainNotStored({ failure }: Pick<StateStore, "failure">): string | undefined {
  const message = failure()?.message;
  return message && `It is blocked, because its progress can't be stored: ${message} It then continues automatically.`;
}

/** Retains the node.conf with which the verified version was started, for a rollback. */
export async function keepRunningConfig(
  dependencies: Parameters<typeof saveHealthyConfig>[2] &
    Readonly<{ place: Pick<NodeLocation, "read" | "layout">; state: UpkeepState }>,
): Promise<void> {
  const { place, state } = dependencies;
  const reading = await place.read();
  if (!reading.ok || state.nodeHas.get() !== deriveMeaning(reading.document)) return;
  state.atomically(() => {
    state.startedWith.set(deriveMeaning(reading.document));
    state.nodeValues.set(readNodeValues(reading.document, place.layout().pathsDirectory));
  });
  await saveHealthyConfig(reading.bytes, "advanced", dependencies);
}
