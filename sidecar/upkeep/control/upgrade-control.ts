import {
  requestRestore,
  requestUpgrade,
  cancelUpgrade,
  type RequestUpgradeDependencies,
} from "../upgrade/begin-upgrade.ts";
import type { ObservedUpgrade } from "../upgrade/upgrade-observation.ts";
import type { CancelAnswer, ControlView, RestoreBody, UpgradeAnswer, UpgradeBody } from "./control-answers.ts";

/** Requests to a running sidecar about its node's version and data. */
export type UpgradeControl = Readonly<{
  /** Shows an upgrade, or begins it if it is still the one that was shown. */
  upgrade: (body: UpgradeBody) => Promise<UpgradeAnswer>;
  /** Shows a restore of the node's data, or begins it if it is still the one that was shown. */
  restore: (body: RestoreBody) => Promise<UpgradeAnswer>;
  /** Withdraws an upgrade for which the node was not stopped yet. */
  cancelUpgrade: () => CancelAnswer;
}>;

/** Creates the part of a control that upgrades the node; `node` names it. */
export function createUpgradeControl(
  seen: Readonly<{ upgrade: ObservedUpgrade }>,
  node: () => ControlView["node"],
  dependencies: RequestUpgradeDependencies,
): UpgradeControl {
  return {
    upgrade: async (body) => {
      const answered = await requestUpgrade(body, seen, dependencies);
      return { ...answered, plan: answered.plan as UpgradeAnswer["plan"], node: node() };
    },
    restore: async (body) => {
      const answered = await requestRestore(body, seen, dependencies);
      return { ...answered, plan: answered.plan as UpgradeAnswer["plan"], node: node() };
    },
    cancelUpgrade: () => {
      const withdrawn = cancelUpgrade(seen, dependencies);
      return { result: withdrawn === undefined ? "none" : "withdrawn", ...withdrawn, node: node() };
    },
  };
}
