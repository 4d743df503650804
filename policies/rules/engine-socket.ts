import type { ResourceRule } from "../rule.ts";
import { checkContainers } from "../workload-of.ts";

const socket = /\/(docker|containerd|crio|podman)[^/]*\.sock$/;

/** Rule 3: only the engine proxy mounts the engine's socket. */
export const engineSocket: ResourceRule = {
  scope: "resource",
  name: "engine-socket",
  severity: "critical",
  why: "Who can use the engine's socket can start a privileged container, and so is root on the host.",
  remedy: "Go through `gatehouse engine-proxy`, which lets through inspect, restart and node_cli of one container.",
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
