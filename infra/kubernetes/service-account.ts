import type { types } from "@pulumi/kubernetes";
import { workspaceVolume } from "../services/node/node-layout.ts";
import { nodePod } from "../services/stack-context.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildMetadata, type Component } from "./metadata.ts";
import { nodeAccount } from "./node-stateful-set.ts";

const group = "rbac.authorization.k8s.io";

export type ServiceAccess = Readonly<{
  account: types.input.core.v1.ServiceAccount;
  role: types.input.rbac.v1.Role;
  binding: types.input.rbac.v1.RoleBinding;
}>;

/** Builds a service account and its role; all three objects have the same name. A pod gets the token only if its template requests it. */
export function buildServiceAccess(
  name: Component,
  rules: readonly types.input.rbac.v1.PolicyRule[],
  options: KubernetesOptions,
): ServiceAccess {
  const metadata = buildMetadata(options, name, name);
  return {
    account: { metadata, automountServiceAccountToken: false },
    role: { metadata, rules: [...rules] },
    binding: {
      metadata,
      roleRef: { apiGroup: group, kind: "Role", name },
      subjects: [{ kind: "ServiceAccount", name, namespace: options.namespace }],
    },
  };
}

/** Builds the account for the node's pod, which may read its own pod, run node_cli in it, and delete it for a restart. */
export function buildNodeAccess(options: KubernetesOptions): ServiceAccess {
  const resourceNames = [nodePod];
  const rules = [
    { apiGroups: [""], resources: ["pods"], verbs: listPodVerbs(options), resourceNames },
    { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"], resourceNames },
    ...(options.volumeGrowth !== undefined ? [ownClaim] : []),
  ];
  return buildServiceAccess(nodeAccount, rules, options);
}

const ownClaim: types.input.rbac.v1.PolicyRule = {
  apiGroups: [""],
  resources: ["persistentvolumeclaims"],
  verbs: ["get", "patch"],
  resourceNames: [workspaceVolume],
};

function listPodVerbs({ nodeRestart }: KubernetesOptions): string[] {
  return nodeRestart === "delete-pod" ? ["get", "delete"] : ["get"];
}
