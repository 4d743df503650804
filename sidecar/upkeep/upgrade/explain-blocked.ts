import type { Authority } from "../adoption/authority.ts";
import type { NodeDriver } from "../drivers/driver.ts";
import type { RestartBudget } from "../restart/restart-budget.ts";
import type { StateStore } from "../state/state-store.ts";
import type { UpgradeRecord } from "../state/upgrade-record.ts";
import { hasPower } from "./node-power.ts";
import { explainNotKept } from "./run-upgrade.ts";

/** Explains why an upgrade that is under way can't go on, and what to do; undefined if it can. */
export function explainBlocked(
  { waitsForBudget }: Pick<UpgradeRecord, "waitsForBudget">,
  authority: Authority,
  {
    driver,
    state,
    budget,
  }: Readonly<{
    driver: NodeDriver | undefined;
    state: Readonly<{ store: Pick<StateStore, "failure"> }>;
    budget: Pick<RestartBudget, "allows">;
  }>,
): string | undefined {
  if (authority === "observes") return "It can't go on: upkeep.mode is observe; set it back to what it was.";
  if (authority === "waits") return "It can't go on: the sidecar waits for gatehouse adopt.";
  if (!hasPower(driver)) return "It can't go on: restart.driver can't stop and start the node; set it back to ops.";
  if (waitsForBudget === true && !budget.allows("roll-back"))
    return "The way back waits until the restart budget of the hour allows it (restart.budgetPerHour).";
  return explainNotKept(state.store);
}
