import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

const socket = /\/(docker|containerd|crio|podman)[^/]*\.sock$/;

/** Rule 3: only the engine proxy mounts the engine's socket. */
export const engineSocket: ResourceRule = {
  scope: "resource",
  name: "engine-socket",
  severity: "critical",
  why: "Access to the engine's socket allows starting a privileged container, which is root on the host.",
  remedy: "Use `gatehouse engine-proxy`, which allows only inspect, restart and node_cli of one container.",
  check: (resource) =>
    checkContainers(resource, (container, workload) =>
      container
        .mounts()
        .filter(({ hostPath }) => hostPath !== undefined && socket.test(hostPath))
        .flatMap(({ hostPath }) => {
          if (workload.kind === "docker" && workload.service() === "engine-proxy") return [];
          return [`mounts the engine's socket ${hostPath ?? ""} and is not the engine proxy`];
        }),
    ),
};
