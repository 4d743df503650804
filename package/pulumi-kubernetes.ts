/** `gatehouse-evm/pulumi/kubernetes`: one namespace of a cluster as the target of a deployment. Needs `@pulumi/kubernetes`. */
export { KubernetesNamespace } from "#infra/kubernetes/kubernetes-platform.ts";
export type { KubernetesOptions } from "#infra/kubernetes/kubernetes-options.ts";
