import type { Cluster, ClusterObject } from "./cluster.ts";
import { snapshotGroup } from "./kubernetes-names.ts";

/** A permission on objects of one kind; `scoped`: in the namespace, not cluster-wide. */
type Right = Readonly<{
  group: string;
  resource: string;
  subresource?: string;
  verbs: readonly string[];
  scoped: boolean;
}>;

/** Permissions needed by all steps of an upgrade and its rollback. Missing permissions must be detected before the node is stopped. */
const needed: readonly Right[] = [
  { group: "apps", resource: "statefulsets", verbs: ["get", "patch"], scoped: true },
  { group: "", resource: "pods", verbs: ["get", "create", "patch", "delete"], scoped: true },
  { group: "", resource: "pods", subresource: "log", verbs: ["get"], scoped: true },
  { group: "", resource: "pods", subresource: "exec", verbs: ["create"], scoped: true },
  { group: "", resource: "persistentvolumeclaims", verbs: ["get", "create", "delete"], scoped: true },
  { group: "", resource: "persistentvolumes", verbs: ["get"], scoped: false },
  { group: snapshotGroup, resource: "volumesnapshots", verbs: ["get", "list", "create", "delete"], scoped: true },
  { group: snapshotGroup, resource: "volumesnapshotclasses", verbs: ["list"], scoped: false },
];

/** Finds the permissions that an upgrade needs and the caller lacks, e.g. "patch statefulsets". */
export async function findMissingRights(namespace: string, cluster: Cluster): Promise<readonly string[]> {
  const wanted = needed.flatMap(({ verbs, ...right }) => verbs.map((verb) => ({ ...right, verb })));
  const reviews = wanted.map(({ group, resource, subresource, verb, scoped }): ClusterObject => {
    const place = scoped ? { namespace } : {};
    const attributes = { group, resource, verb, ...place, ...(subresource === undefined ? {} : { subresource }) };
    return {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: attributes },
    };
  });
  const answers = await cluster.reviewRights(reviews);
  return wanted
    .filter((_, at) => answers[at] !== true)
    .map(
      ({ verb, resource, subresource }) => `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`,
    );
}
