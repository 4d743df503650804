import type { types } from "@pulumi/kubernetes";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";

const group = "rbac.authorization.k8s.io";

/** An account of the namespace, and what it may do there. */
export type ServiceAccess = Readonly<{
  account: types.input.core.v1.ServiceAccount;
  role: types.input.rbac.v1.Role;
  binding: types.input.rbac.v1.RoleBinding;
}>;

/** An account with a role of its own, all three of one name. No pod gets its token unless the pod's template asks for it. */
export function serviceAccess(
  name: string,
  rules: readonly types.input.rbac.v1.PolicyRule[],
  { namespace, prefix }: KubernetesOptions,
): ServiceAccess {
  const metadata = { name, namespace, labels: stackLabels(prefix) };
  return {
    account: { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    role: { apiVersion: `${group}/v1`, kind: "Role", metadata, rules: [...rules] },
    binding: {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  };
}
