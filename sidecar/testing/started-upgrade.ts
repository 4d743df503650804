import type { UpgradeRecord } from "../upkeep/state/upgrade-record.ts";

/** An approved upgrade that has not run any stage. */
export const startedUpgrade: UpgradeRecord = {
  from: "0.15.0",
  to: "0.16.2",
  source: "/releases/0.16.2",
  files: [],
  binDirectory: "/node/bin",
  configPath: "/node/bin/node.conf",
  directory: "/node/.gatehouse-upgrade/1",
  stores: [],
  keepsCopy: false,
  before: { height: 10, autoPrune: true, tellsVersion: true },
  beganMs: 1,
  stage: "stopping",
  stageSinceMs: 1,
  attempts: 0,
  interruptions: 0,
};
