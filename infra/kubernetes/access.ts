import type { types } from "@pulumi/kubernetes";
import { workspaceVolume } from "../spec/node-layout.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";
import { nodeAccount } from "./node-stateful-set.ts";

const group = "rbac.authorization.k8s.io";

/** The name of the node's only pod: StatefulSets number their pods from 0. */
export const nodePod = "node-0";

/** The account of the node's pod and what it may do: look at its own pod, run node_cli in it, and delete it for a restart. */
export function nodeAccess(options: KubernetesOptions): Readonly<{
  account: types.input.core.v1.ServiceAccount;
  role: types.input.rbac.v1.Role;
  binding: types.input.rbac.v1.RoleBinding;
}> {
  const metadata = { name: nodeAccount, namespace: options.namespace, labels: stackLabels(options.prefix) };
  const resourceNames = [nodePod];
  return {
    account: { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    role: {
      apiVersion: `${group}/v1`,
      kind: "Role",
      metadata,
      rules: [
        { apiGroups: [""], resources: ["pods"], verbs: podVerbs(options), resourceNames },
        { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"], resourceNames },
        ...(options.volumeGrows ? [ownClaim] : []),
      ],
    },
    binding: {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: group, kind: "Role", name: nodeAccount },
      subjects: [{ kind: "ServiceAccount", name: nodeAccount, namespace: options.namespace }],
    },
  };
}

/** The one claim that the sidecar may make larger. */
const ownClaim: types.input.rbac.v1.PolicyRule = {
  apiGroups: [""],
  resources: ["persistentvolumeclaims"],
  verbs: ["get", "patch"],
  resourceNames: [workspaceVolume],
};

function podVerbs({ restartStrategy }: KubernetesOptions): string[] {
  return restartStrategy === "delete-pod" ? ["get", "delete"] : ["get"];
}
