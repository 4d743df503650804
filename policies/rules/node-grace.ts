import type { ResourceRule } from "../rule.ts";
import { findWorkload } from "../workload-of.ts";

const graceMinSeconds = 300;

/** Rule 12: the node has enough time to finish writing. */
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
    return [
      `the node has ${seconds === undefined ? "the default time" : `${seconds} s`} to stop; it needs ${graceMinSeconds} s`,
    ];
  },
};
