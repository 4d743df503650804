import { systemClock, type Clock } from "#daemon/clock.ts";
import { pause as pauseForReal, type Pause } from "#daemon/time.ts";
import type { StackPlatform } from "../stack-platform.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import type { Cluster } from "./cluster.ts";
import { formatDiscardCommand } from "./work-pod.ts";
import { names } from "./kubernetes-names.ts";
import { checkCluster } from "./check-cluster.ts";
import { scaleUp, type ScaleDependencies } from "./scale-node.ts";
import { createKubernetesNode, removeCopy } from "./kubernetes-node.ts";
import { findNodeImage, findNodePod, findNodeUser, findWorkload, requireWorkload } from "./workload.ts";

/** Creates the platform for a cluster: it scales the node to 0 and 1, and copies its data via a VolumeSnapshot of its claim. */
export function createKubernetesPlatform(
  target: KubernetesTarget,
  {
    cluster,
    clock = systemClock,
    pause = pauseForReal,
  }: Readonly<{ cluster: Cluster; clock?: Pick<Clock, "monotonicMs">; pause?: Pause }>,
): StackPlatform {
  const dependencies: ScaleDependencies = { cluster, clock, pause };
  return {
    look: ({ prefix }) => checkCluster({ prefix, target }, dependencies),
    ...createKubernetesNode(target, dependencies),
    start: async () => {
      await scaleUp(dependencies);
      return { kind: "done" };
    },
    removeCopy: (record) => removeCopy(record, target, cluster),
    runsImage: async (_, image) => {
      const workload = await findWorkload(cluster);
      if (workload === undefined || findNodeImage(workload.spec.template.spec.containers) !== image) return false;
      const pod = await findNodePod(cluster);
      return pod === undefined || findNodeImage(pod.spec.containers) === image;
    },
    // Pulumi finds the resources that it created by their names, and adopts them.
    removeStrays: async () => 0,
    listForgotten: async (_, { pulumi }) => {
      const { statefulSets } = await pulumi.readState();
      const id = `${target.namespace}/${names.workload}`;
      return [...statefulSets].flatMap(([urn, found]) => (found === id ? [urn] : []));
    },
    describeLeftovers: async (record) => {
      const isKept = record.newRan && record.failure !== undefined && record.restored === "whole";
      const user = isKept ? findNodeUser(await requireWorkload(cluster)) : undefined;
      if (user === undefined) return [];
      return [
        `What the new version made of the data is kept on ${names.claim}, if there was room. Remove it once nobody needs it: ${formatDiscardCommand(target, { ...record, user })}`,
      ];
    },
  };
}
