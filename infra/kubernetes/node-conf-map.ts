import type { types } from "@pulumi/kubernetes";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";

/** Name of the ConfigMap with the node's first configuration. */
export const nodeConfName = "node-conf";

/** The ConfigMap that node.conf is seeded from. */
export function nodeConfMap(options: KubernetesOptions): types.input.core.v1.ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: nodeConfName, namespace: options.namespace, labels: stackLabels(options.prefix) },
    data: { "node.conf": options.nodeConf },
  };
}
