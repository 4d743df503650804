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
 * Creates the platform for a stack.
 *
 * @throws {Refused} if the engine runs on another machine.
 */
export function createPlatform(target: StackTarget): StackPlatform {
  if (target.kind === "kubernetes") {
    return createKubernetesPlatform(target, { cluster: createKubectlCluster(target) });
  }
  const engine = createEngine(target.engine);
  if (engine !== undefined) return createDockerPlatform(target, { engine });
  throw new Refused(`the stack's engine is at ${target.engine}; run this on the machine where that engine is`);
}

/** Creates the queries for a stack: on Docker, sent to its addresses; on Kubernetes, sent from the node's pod. */
export function createQueries(target: StackTarget): StackQueries {
  if (target.kind === "docker") return createStackQueries(target);
  return createPodQueries(createKubectlCluster(target));
}
