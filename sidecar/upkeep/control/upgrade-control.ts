import { askRestore } from "../upgrade/ask-restore.ts";
import { askUpgrade, cancelUpgrade, type AskUpgradeDependencies } from "../upgrade/ask-upgrade.ts";
import type { ObservedUpgrade } from "../upgrade/upgrade-observation.ts";
import type { CancelAnswer, ControlView, RestoreAsked, UpgradeAnswer, UpgradeAsked } from "./control-answers.ts";

/** What a person may ask of a running sidecar about its node's version and data. */
export type UpgradeControl = Readonly<{
  /** Shows an upgrade, or begins or schedules it if it is still the one that was shown. */
  upgrade: (asked: UpgradeAsked) => Promise<UpgradeAnswer>;
  /** Shows a restore of the node's data, or begins it if it is still the one that was shown. */
  restore: (asked: RestoreAsked) => Promise<UpgradeAnswer>;
  /** Withdraws the upgrade that is scheduled. */
  cancelUpgrade: () => CancelAnswer;
}>;

/** Creates the part of a control that upgrades the node; `node` names it. */
export function createUpgradeControl(
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  node: () => ControlView["node"],
  dependencies: AskUpgradeDependencies,
): UpgradeControl {
  return {
    upgrade: async (asked) => {
      const answered = await askUpgrade(asked, seen, dependencies);
      return { ...answered, plan: answered.plan as UpgradeAnswer["plan"], node: node() };
    },
    restore: async (asked) => {
      const answered = await askRestore(asked, seen, dependencies);
      return { ...answered, plan: answered.plan as UpgradeAnswer["plan"], node: node() };
    },
    cancelUpgrade: () => {
      const withdrawn = cancelUpgrade(seen, dependencies);
      return { result: withdrawn === undefined ? "none" : "withdrawn", ...withdrawn, node: node() };
    },
  };
}
