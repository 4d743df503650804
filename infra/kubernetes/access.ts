import type { types } from "@pulumi/kubernetes";
import { workspaceVolume } from "../services/node-layout.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { nodeAccount } from "./node-stateful-set.ts";
import { serviceAccess, type ServiceAccess } from "./service-account.ts";

/** The name of the node's only pod: StatefulSets number their pods from 0. */
export const nodePod = "node-0";

/** The account of the node's pod and what it may do: look at its own pod, run node_cli in it, and delete it for a restart. */
export function nodeAccess(options: KubernetesOptions): ServiceAccess {
  const resourceNames = [nodePod];
  const rules = [
    { apiGroups: [""], resources: ["pods"], verbs: podVerbs(options), resourceNames },
    { apiGroups: [""], resources: ["pods/exec"], verbs: ["get", "create"], resourceNames },
    ...(options.volumeGrows ? [ownClaim] : []),
  ];
  return serviceAccess(nodeAccount, rules, options);
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
