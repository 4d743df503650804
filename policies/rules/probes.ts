import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

/** Rule 8: probes detect unhealthy services. */
export const probes: ResourceRule = {
  scope: "resource",
  name: "probes",
  severity: "medium",
  why: "Without a probe, a hung service keeps getting requests.",
  remedy:
    "Docker: a health check; for a node's own image nodeHealthCommand. Kubernetes: a readiness and a liveness probe. One-shot containers need none.",
  check: (resource) =>
    checkContainers(resource, (container, workload) => {
      if (container.oneShot()) return [];
      const { ready, live } = container.probes();
      if (workload.kind === "docker") return ready ? [] : ["has no health check"];
      return [...(ready ? [] : ["has no readiness probe"]), ...(live ? [] : ["has no liveness probe"])];
    }),
};
