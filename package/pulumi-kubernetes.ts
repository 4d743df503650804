/** `gatehouse-evm/pulumi/kubernetes`: a single namespace in a cluster as the target of a deployment. Requires `@pulumi/kubernetes`. */
export { KubernetesNamespace } from "#infra/kubernetes/kubernetes-platform.ts";
export type { KubernetesOptions } from "#infra/kubernetes/kubernetes-options.ts";
