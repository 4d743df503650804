import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "./containers-of.ts";

/** Rule 5: no capabilities, no way to more, a system call filter. */
export const confined: ResourceRule = {
  scope: "resource",
  name: "confined",
  severity: "high",
  why: "Capabilities, setuid programs and unfiltered system calls are the ways from a service to its host.",
  remedy:
    "Drop ALL capabilities, forbid new privileges, keep the engine's seccomp profile (Kubernetes: RuntimeDefault).",
  check: (resource) =>
    checkContainers(resource, (container) => [
      ...(container.dropsAll() ? [] : ["does not drop ALL capabilities"]),
      ...container
        .addedCapabilities()
        .filter((capability) => capability !== "NET_BIND_SERVICE")
        .map((capability) => `adds the capability ${capability}`),
      ...(container.noNewPrivileges() ? [] : ["allows new privileges"]),
      ...(container.seccompUnconfined() ? ["has no seccomp profile"] : []),
    ]),
};
