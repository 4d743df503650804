import type { types } from "@pulumi/kubernetes";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";

/** The stack's namespace, in which only pods of the Pod Security Standard `restricted` are let in. A host port is beyond it. */
export function namespaceOf(options: KubernetesOptions): types.input.core.v1.Namespace {
  const level = options.peers === "host-port" ? "privileged" : "restricted";
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: options.namespace,
      labels: {
        ...stackLabels(options.prefix),
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/warn": "restricted",
      },
    },
  };
}
