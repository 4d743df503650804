import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

/** Rule 4: no container runs as root. */
export const nonRoot: ResourceRule = {
  scope: "resource",
  name: "non-root",
  severity: "high",
  why: "Root in a container is one kernel mistake away from root on the host.",
  remedy: "Set a user by number that is not 0 (Docker: user; Kubernetes: runAsUser, or runAsNonRoot: true).",
  check: (resource) =>
    checkContainers(resource, (container) => {
      const user = container.user();
      if (user === undefined || user === "") return ["names no user, so it can run as root"];
      return /^(0|root)(:|$)/.test(user) ? [`runs as ${user}`] : [];
    }),
};
