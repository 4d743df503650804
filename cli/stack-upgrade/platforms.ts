import { createDockerPlatform } from "./docker/docker-platform.ts";
import { createEngine } from "./docker/engine.ts";
import { createKubectlCluster } from "./kubernetes/kubectl.ts";
import { createKubernetesPlatform } from "./kubernetes/kubernetes-platform.ts";
import { createPodQueries } from "./kubernetes/pod-queries.ts";
import { createStackQueries, type StackQueries } from "./node-status.ts";
import { Refused, type StackTarget } from "./stack-record.ts";
import type { StackPlatform } from "./stack-platform.ts";

/**
 * Creates the platform for a stack.
 *
 * @throws {Refused} if the engine runs on another machine.
 */
export function createPlatform(prefix: string, target: StackTarget): StackPlatform {
  if (target.kind === "kubernetes") {
    return createKubernetesPlatform({ prefix, target }, { cluster: createKubectlCluster(target) });
  }
  const engine = createEngine(target.engine);
  if (engine !== undefined) return createDockerPlatform({ prefix, target }, engine);
  throw new Refused(`the stack's engine is at ${target.engine}; run this command on that engine's machine`);
}

/** Creates the queries for a stack: on Docker, sent to its addresses; on Kubernetes, sent from the node's pod. */
export function createQueries(target: StackTarget): StackQueries {
  if (target.kind === "docker") return createStackQueries(target);
  return createPodQueries(createKubectlCluster(target));
}
