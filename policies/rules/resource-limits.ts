import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

/** Rule 7: limits prevent one service from starving the others. */
export const resourceLimits: ResourceRule = {
  scope: "resource",
  name: "resource-limits",
  severity: "medium",
  why: "A service without limits can starve the node of memory and CPU.",
  remedy: "Set a CPU and a memory limit.",
  check: (resource) =>
    checkContainers(resource, (container) => {
      const { cpu, memory } = container.limits();
      return [...(cpu ? [] : ["has no CPU limit"]), ...(memory ? [] : ["has no memory limit"])];
    }),
};
