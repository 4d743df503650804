import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

/** Rule 6: a running program can't change its deployed files. */
export const readOnlyRoot: ResourceRule = {
  scope: "resource",
  name: "read-only-root",
  severity: "medium",
  why: "An attacker who can't write to the container's files can't install programs in it.",
  remedy:
    "Make the root file system read-only, with a volume or tmpfs for writable paths. One-shot containers are exempt.",
  check: (resource) =>
    checkContainers(resource, (container, workload) => {
      if (workload.kind === "docker" && container.oneShot()) return [];
      return container.readOnlyRoot() ? [] : ["has a writable root file system"];
    }),
};
