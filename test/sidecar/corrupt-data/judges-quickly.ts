/** A sidecar that starts a node which ended, and judges its data quickly. */
export const judgesQuickly = {
  GATEHOUSE_SIDECAR_LAG_RESTART: "true",
  GATEHOUSE_SIDECAR_LAG_RESTART_AFTER_MS: "300",
  GATEHOUSE_SIDECAR_UPGRADE_AUTO_RESTORE_AFTER_MS: "1000",
  GATEHOUSE_SIDECAR_UPGRADE_KEEP_SNAPSHOT: "true",
  GATEHOUSE_SIDECAR_HEALTH_DISK_FREE_RATIO: "0",
};
