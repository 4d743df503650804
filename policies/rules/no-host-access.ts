import type { ResourceRule } from "../rule.ts";
import { workloadOf } from "../workload-of.ts";
import { checkContainers } from "./containers-of.ts";

/** Directories of a host that hold what no container should read: the system's own, other containers', devices. */
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

/** The engine's socket has a rule of its own. */
const engineSocket = /\/(docker|containerd|crio|podman)[^/]*\.sock$/;

/** Rule 2: a container is not its host. */
export const noHostAccess: ResourceRule = {
  scope: "resource",
  name: "no-host-access",
  severity: "critical",
  why: "A privileged container, or one in the host's namespaces or system directories, is root on the host once it is taken over.",
  remedy: "Drop privileged, host namespaces and host paths; give the one device, port or volume that is needed.",
  check: (resource) => {
    const namespaces = workloadOf(resource)?.hostNamespaces() ?? [];
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
