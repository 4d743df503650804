import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

/** Rule 4: no container runs as root. */
export const nonRoot: ResourceRule = {
  scope: "resource",
  name: "non-root",
  severity: "high",
  why: "Root in a container is one kernel bug away from root on the host.",
  remedy: "Set a non-zero user ID (Docker: user; Kubernetes: runAsUser, or runAsNonRoot: true).",
  check: (resource) =>
    checkContainers(resource, (container) => {
      const user = container.user();
      if (user === undefined || user === "") return ["has no user, so it can run as root"];
      return /^(0|root)(:|$)/.test(user) ? [`runs as ${user}`] : [];
    }),
};
