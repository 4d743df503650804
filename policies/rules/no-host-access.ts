import type { ResourceRule } from "../rule.ts";
import { findWorkload, checkContainers } from "../workload-of.ts";

/** Host directories that no container should read: system directories, other containers' data, devices. */
const sensitive = [
  "/",
  "/etc",
  "/root",
  "/home",
  "/boot",
  "/dev",
  "/proc",
  "/sys",
  "/var/lib",
  "/var/run",
  "/run",
  "/usr",
];

/** A separate rule covers the engine's socket. */
const engineSocket = /\/(docker|containerd|crio|podman)[^/]*\.sock$/;

/** Rule 2: a container is isolated from its host. */
export const noHostAccess: ResourceRule = {
  scope: "resource",
  name: "no-host-access",
  severity: "critical",
  why: "A compromised container that is privileged or has the host's namespaces or system directories gives root on the host.",
  remedy: "Remove privileged, host namespaces and host paths; allow only the required device, port or volume.",
  check: (resource) => {
    const namespaces = findWorkload(resource)?.hostNamespaces() ?? [];
    return [
      ...namespaces.map((namespace) => `shares the host's ${namespace} namespace`),
      ...checkContainers(resource, (container) => [
        ...(container.privileged() ? ["is privileged"] : []),
        ...container
          .mounts()
          .flatMap(({ hostPath }) =>
            hostPath !== undefined && isSensitive(hostPath) ? [`mounts ${hostPath} of the host`] : [],
          ),
      ]),
    ];
  },
};

function isSensitive(path: string): boolean {
  if (engineSocket.test(path)) return false;
  const plain = path.replace(/\/+$/, "") || "/";
  return sensitive.some((root) => plain === root || (root !== "/" && plain.startsWith(`${root}/`)));
}

/** Rule 5: containers have no capabilities, no privilege escalation, and a system call filter. */
export const confined: ResourceRule = {
  scope: "resource",
  name: "confined",
  severity: "high",
  why: "Capabilities, setuid programs and unfiltered system calls let an attacker escape to the host.",
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
