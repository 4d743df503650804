/** Services that `gatehouse install-service` knows: those that run for years on their own host. */
export const installedServices = ["sidecar", "gateway", "facilitator", "resource-server"] as const;

export type InstalledService = (typeof installedServices)[number];
