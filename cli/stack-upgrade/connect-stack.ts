import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import { createDockerPlatform } from "./docker/docker-platform.ts";
import { createEngine } from "./docker/engine.ts";
import { createKubectlCluster } from "./kubernetes/kubectl.ts";
import { createKubernetesPlatform } from "./kubernetes/kubernetes-platform.ts";
import { createPodQueries } from "./kubernetes/pod-queries.ts";
import { createStackQueries } from "./node-status.ts";
import type { StackTarget } from "./stack-record.ts";
import type { StackWork } from "./stack-platform.ts";

/**
 * Connects to a stack. Its queries are sent to its addresses on Docker, and from the node's pod on Kubernetes.
 *
 * @throws {UpgradeError} if the engine runs on another machine.
 */
export function connectStack(prefix: string, target: StackTarget): Pick<StackWork, "platform" | "queries"> {
  if (target.kind === "kubernetes") {
    const cluster = createKubectlCluster(target);
    return { platform: createKubernetesPlatform(prefix, target, cluster), queries: createPodQueries(cluster) };
  }
  const engine = createEngine(target.engine);
  if (engine !== undefined)
    return { platform: createDockerPlatform(prefix, target, engine), queries: createStackQueries(target) };
  throw new UpgradeError(`the stack's engine is at ${target.engine}; run this command on that engine's machine`);
}
