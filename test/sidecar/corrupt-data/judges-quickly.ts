import type { RunningUpkeep } from "#sidecar/testing/run-upkeep.ts";

/** A sidecar that starts a node which ended, and judges its data quickly. */
export const judgesQuickly = {
  GATEHOUSE_SIDECAR_LAG_RESTART: "true",
  GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "300",
  GATEHOUSE_SIDECAR_UPGRADE_AUTO_RESTORE_AFTER_MS: "1000",
  GATEHOUSE_SIDECAR_UPGRADE_KEEP_SNAPSHOT: "true",
  GATEHOUSE_SIDECAR_HEALTH_DISK_FREE_RATIO: "0",
};

/** How often the node was started, as far as is reported. */
export const countStarts = ({ events }: RunningUpkeep) =>
  events.list().filter(({ message }) => /^(Restarting the node|The node did not come back)/.test(message)).length;
