import type { ResourceRule } from "../rule.ts";
import { checkContainers, findWorkload } from "../workload-of.ts";
import type { Container, Workload } from "../workload.ts";

function createContainerRule(
  description: Omit<ResourceRule, "scope" | "check">,
  check: (container: Container, workload: Workload) => readonly string[],
): ResourceRule {
  return { ...description, scope: "resource", check: (resource) => checkContainers(resource, check) };
}

/** Host directories that no container should read: system directories, other containers' data, devices. */
const sensitivePaths = [
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

const socket = /\/(docker|containerd|crio|podman)[^/]*\.sock$/;

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
        ...listHostPaths(container)
          .filter(isSensitive)
          .map((path) => `mounts ${path} of the host`),
      ]),
    ];
  },
};

function listHostPaths(container: Container): readonly string[] {
  return container.mounts().flatMap(({ hostPath }) => hostPath ?? []);
}

/** Whether a host path is sensitive; the engine's socket has its own rule. */
function isSensitive(path: string): boolean {
  if (socket.test(path)) return false;
  const normalized = path.replace(/\/+$/, "") || "/";
  return sensitivePaths.some((root) => normalized === root || (root !== "/" && normalized.startsWith(`${root}/`)));
}

export const engineSocket = createContainerRule(
  {
    name: "engine-socket",
    severity: "critical",
    why: "Access to the engine's socket allows starting a privileged container, which amounts to root on the host.",
    remedy: "Use `gatehouse engine-proxy`, which allows only inspect, restart and node_cli of one container.",
  },
  (container, workload) =>
    listHostPaths(container)
      .filter((path) => socket.test(path))
      .flatMap((path) => {
        if (workload.kind === "docker" && workload.service() === "engine-proxy") return [];
        return [`mounts the engine's socket ${path} and is not the engine proxy`];
      }),
);

export const nonRoot = createContainerRule(
  {
    name: "non-root",
    severity: "high",
    why: "Root in a container is one kernel bug away from root on the host.",
    remedy: "Set a non-zero user ID (Docker: user; Kubernetes: runAsUser, or runAsNonRoot: true).",
  },
  (container) => {
    const user = container.user();
    if (user === undefined || user === "") return ["has no user, so it can run as root"];
    return /^(0|root)(:|$)/.test(user) ? [`runs as ${user}`] : [];
  },
);

export const confined = createContainerRule(
  {
    name: "confined",
    severity: "high",
    why: "Capabilities, setuid programs and unfiltered system calls let an attacker escape to the host.",
    remedy:
      "Drop ALL capabilities, forbid new privileges, keep the engine's seccomp profile (Kubernetes: RuntimeDefault).",
  },
  (container) => [
    ...(container.dropsAll() ? [] : ["does not drop ALL capabilities"]),
    ...container
      .addedCapabilities()
      .filter((capability) => capability !== "NET_BIND_SERVICE")
      .map((capability) => `adds the capability ${capability}`),
    ...(container.noNewPrivileges() ? [] : ["allows new privileges"]),
    ...(container.seccompUnconfined() ? ["has no seccomp profile"] : []),
  ],
);

export const readOnlyRoot = createContainerRule(
  {
    name: "read-only-root",
    severity: "medium",
    why: "An attacker who can't write to the container's files can't install programs in it.",
    remedy:
      "Make the root file system read-only, with a volume or tmpfs for writable paths. One-shot containers are exempt.",
  },
  (container, workload) => {
    if (workload.kind === "docker" && container.oneShot()) return [];
    return container.readOnlyRoot() ? [] : ["has a writable root file system"];
  },
);

export const resourceLimits = createContainerRule(
  {
    name: "resource-limits",
    severity: "medium",
    why: "A service without limits can starve the node of memory and CPU.",
    remedy: "Set a CPU and a memory limit.",
  },
  (container) => {
    const { cpu, memory } = container.limits();
    return [...(cpu ? [] : ["has no CPU limit"]), ...(memory ? [] : ["has no memory limit"])];
  },
);

export const probes = createContainerRule(
  {
    name: "probes",
    severity: "medium",
    why: "Without a probe, a hung service keeps getting requests.",
    remedy:
      "Docker: a health check; for a node's own image nodeHealthCommand. Kubernetes: a readiness and a liveness probe. One-shot containers need none.",
  },
  (container, workload) => {
    if (container.oneShot()) return [];
    const { ready, live } = container.probes();
    if (workload.kind === "docker") return ready ? [] : ["has no health check"];
    return [...(ready ? [] : ["has no readiness probe"]), ...(live ? [] : ["has no liveness probe"])];
  },
);

const graceMinSeconds = 300;

export const nodeGrace: ResourceRule = {
  scope: "resource",
  name: "node-grace",
  severity: "high",
  why: "A node that is killed while it writes can lose its chain data.",
  remedy: `Give the node at least ${graceMinSeconds} s to stop (Docker: stopTimeout; Kubernetes: terminationGracePeriodSeconds).`,
  check: (resource) => {
    const workload = findWorkload(resource);
    if (workload === undefined || workload.service() !== "node") return [];
    const seconds = workload.stopGraceSeconds();
    if (seconds !== undefined && seconds >= graceMinSeconds) return [];
    const found = seconds === undefined ? "the default time" : `${seconds} s`;
    return [`the node has ${found} to stop; it needs ${graceMinSeconds} s`];
  },
};
