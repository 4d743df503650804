import type { NetworkHealth } from "./service-spec.ts";

/** How one asks a service that has nothing of its own beside its `/livez` and `/readyz` whether it is well. */
export const daemonHealth: NetworkHealth = {
  kind: "http",
  port: "http",
  readyPath: "/readyz",
  livePath: "/livez",
  startupPath: "/livez",
  startWithinSeconds: 60,
};
