import { createDockerPlatform } from "./docker/docker-platform.ts";
import { createEngine } from "./docker/engine.ts";
import { createKubectlCluster } from "./kubernetes/kubectl.ts";
import { createKubernetesPlatform } from "./kubernetes/kubernetes-platform.ts";
import { createPodQueries } from "./kubernetes/pod-queries.ts";
import { createStackQueries, type StackQueries } from "./node-status.ts";
import { Refused } from "./stack-record.ts";
import type { StackPlatform } from "./stack-platform.ts";
import type { StackTarget } from "./stack-target.ts";

/**
 * Creates the platform of a stack.
 *
 * @throws {Refused} for an engine on another machine.
 */
export function createPlatform(target: StackTarget): StackPlatform {
  if (target.kind === "kubernetes") {
    return createKubernetesPlatform(target, { cluster: createKubectlCluster(target) });
  }
  const engine = createEngine(target.engine);
  if (engine !== undefined) return createDockerPlatform(target, { engine });
  throw new Refused(`the stack's engine is at ${target.engine}; run this on the machine where that engine is`);
}

/** Creates the queries of a stack: to its addresses on Docker, from the node's pod on Kubernetes. */
export function createQueries(target: StackTarget): StackQueries {
  if (target.kind === "docker") return createStackQueries(target);
  return createPodQueries(createKubectlCluster(target));
}
