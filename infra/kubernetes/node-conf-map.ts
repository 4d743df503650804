import type { types } from "@pulumi/kubernetes";
import type { HostAddress, SeedSpec } from "../services/service-spec.ts";
import { hostIpVariable } from "../services/node/node-conf.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildObjectLabels } from "./labels.ts";

/** Name of the ConfigMap that contains the node's initial configuration. */
export const nodeConfName = "node-conf";

/** Builds the ConfigMap that seeds node.conf. */
export function buildNodeConfMap(seed: SeedSpec, options: KubernetesOptions): types.input.core.v1.ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: nodeConfName, namespace: options.namespace, labels: buildObjectLabels(options.prefix, "node") },
    data: { "node.conf": seed.content },
  };
}

/** Builds the environment variable for the address that the node announces to its peers; the cluster fills in the machine's address (downward API). */
export function buildHostIp(host: HostAddress): types.input.core.v1.EnvVar {
  if (host.kind === "fixed") return { name: hostIpVariable, value: host.address };
  const fieldPath = host.kind === "pod" ? "status.podIP" : "status.hostIP";
  return { name: hostIpVariable, valueFrom: { fieldRef: { fieldPath } } };
}
