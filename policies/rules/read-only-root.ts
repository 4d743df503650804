import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

/** Rule 6: a running program can't change its deployed files. */
export const readOnlyRoot: ResourceRule = {
  scope: "resource",
  name: "read-only-root",
  severity: "medium",
  why: "An intruder who can't write to the container's files can't leave programs in it.",
  remedy:
    "Make the root file system read-only; give a volume or tmpfs for what is written. One-shot containers are let be.",
  check: (resource) =>
    checkContainers(resource, (container, workload) => {
      if (workload.kind === "docker" && container.oneShot()) return [];
      return container.readOnlyRoot() ? [] : ["has a writable root file system"];
    }),
};
