import type { types } from "@pulumi/kubernetes";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildObjectLabels } from "./labels.ts";

/** Builds the stack's namespace, which admits only pods that meet the Pod Security Standard `restricted`. A host port requires a weaker standard. */
export function buildNamespace(options: KubernetesOptions): types.input.core.v1.Namespace {
  const level = options.peers === "host-port" ? "privileged" : "restricted";
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: options.namespace,
      labels: {
        ...buildObjectLabels(options.prefix, "stack"),
        "pod-security.kubernetes.io/enforce": level,
        "pod-security.kubernetes.io/warn": "restricted",
      },
    },
  };
}
