import type { ClusterClient } from "../support/kubernetes/cluster-client.ts";

type Call = readonly [method: Parameters<ClusterClient["ask"]>[0], path: string];

const group = {
  apps: "/apis/apps/v1",
  batch: "/apis/batch/v1",
  network: "/apis/networking.k8s.io/v1",
  rbac: "/apis/rbac.authorization.k8s.io/v1",
  snapshots: "/apis/snapshot.storage.k8s.io/v1",
  storage: "/apis/storage.k8s.io/v1",
} as const;

/** Lists calls that a cluster must reject for every account of a stack: in its own namespace, in others, and on the cluster itself. */
function listForbiddenToAll(namespace: string): readonly Call[] {
  const own = `/api/v1/namespaces/${namespace}`;
  const node = `${own}/pods/node-0`;
  const apps = `${group.apps}/namespaces/${namespace}`;
  const rbac = `${group.rbac}/namespaces/${namespace}`;
  return [
    ...(["GET", "POST", "DELETE"] as const).map((method): Call => [method, `${own}/pods`]),
    ...(["GET", "DELETE", "PATCH"] as const).map((method): Call => [method, `${own}/pods/facilitator-0`]),
    ...["exec?command=id", "attach", "portforward"].map((way): Call => ["POST", `${own}/pods/facilitator-0/${way}`]),
    ...["attach", "portforward", "eviction"].map((way): Call => ["POST", `${node}/${way}`]),
    ...["log", "proxy/"].map((way): Call => ["GET", `${node}/${way}`]),
    ...["", "/status", "/ephemeralcontainers"].map((part): Call => ["PATCH", `${node}${part}`]),
    ["GET", `${own}/pods?watch=true`],
    ...["secrets", "secrets/sidecar-files", "secrets/facilitator-files"].map((path): Call => ["GET", `${own}/${path}`]),
    ...["configmaps", "configmaps/node-conf", "services", "endpoints", "events"].map((path): Call => [
      "GET",
      `${own}/${path}`,
    ]),
    ["PUT", `${own}/configmaps/node-conf`],
    ["GET", `${own}/persistentvolumeclaims`],
    ["DELETE", `${own}/persistentvolumeclaims/node-workspace`],
    ...["sidecar-state", "facilitator-ledger"].map((claim): Call => [
      "PATCH",
      `${own}/persistentvolumeclaims/${claim}`,
    ]),
    ...(["GET", "PATCH", "DELETE"] as const).map((method): Call => [method, `${apps}/statefulsets/node`]),
    ["PATCH", `${apps}/statefulsets/node/scale`],
    ...["deployments", "replicasets"].map((path): Call => ["GET", `${apps}/${path}`]),
    ["PATCH", `${apps}/deployments/facilitator`],
    ["POST", `${group.batch}/namespaces/${namespace}/jobs`],
    ["DELETE", `${group.network}/namespaces/${namespace}/networkpolicies/default-deny`],
    ...["roles", "rolebindings"].map((path): Call => ["POST", `${rbac}/${path}`]),
    ["PATCH", `${rbac}/roles/node`],
    ...["node", "default"].map((account): Call => ["POST", `${own}/serviceaccounts/${account}/token`]),
    ["PATCH", `${group.snapshots}/namespaces/${namespace}/volumesnapshots/by-hand`],
    ["GET", "/api/v1/namespaces/default/pods"],
    ["GET", "/api/v1/namespaces/default/pods/node-0"],
    ["DELETE", "/api/v1/namespaces/kube-system/pods/node-0"],
    ["DELETE", own],
    ...["namespaces", "nodes", "secrets", "pods", "persistentvolumes"].map((path): Call => ["GET", `/api/v1/${path}`]),
    ["GET", "/api/v1/nodes/any/proxy/pods"],
    ["GET", `${group.storage}/storageclasses`],
    ["GET", `${group.rbac}/clusterroles`],
    ["POST", `${group.rbac}/clusterrolebindings`],
    ["GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"],
  ];
}

/** Lists calls that a cluster must reject for the node's account. */
export function listForbiddenToNode(namespace: string, restart: "delete-pod" | "signal"): readonly Call[] {
  const own = `/api/v1/namespaces/${namespace}`;
  const snapshots = `${group.snapshots}/namespaces/${namespace}/volumesnapshots`;
  const beyondSignal: readonly Call[] = [
    ["DELETE", `${own}/pods/node-0`],
    ["PATCH", `${own}/persistentvolumeclaims/node-workspace`],
  ];
  return [
    ...listForbiddenToAll(namespace),
    ...(["GET", "POST"] as const).map((method): Call => [method, snapshots]),
    ["DELETE", `${snapshots}/by-hand`],
    ...(restart === "signal" ? beyondSignal : []),
  ];
}

/** Lists calls that a cluster must reject for the account of the snapshot job. */
export function listForbiddenToSnapshots(namespace: string): readonly Call[] {
  const own = `/api/v1/namespaces/${namespace}`;
  return [
    ...listForbiddenToAll(namespace),
    ...(["GET", "DELETE"] as const).map((method): Call => [method, `${own}/pods/node-0`]),
    ["POST", `${own}/pods/node-0/exec?command=id`],
    ...(["GET", "PATCH"] as const).map((method): Call => [method, `${own}/persistentvolumeclaims/node-workspace`]),
  ];
}

/**
 * Makes each call, with an empty object as its body if it has one. Returns those whose response was not 403.
 */
export async function findNotRejected(client: ClusterClient, calls: readonly Call[]): Promise<readonly string[]> {
  const passed: string[] = [];
  for (const [method, path] of calls) {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const { status } = await client.ask(method, path, method === "GET" || method === "DELETE" ? undefined : {}, type);
    if (status !== 403) passed.push(`${status} ${method} ${path}`);
  }
  return passed;
}
