import { until } from "#daemon/testing/until.ts";
import type { ApiServer } from "./api-server.ts";

/** A kind that an installed controller adds to a cluster. */
type Kind = Readonly<{ group: string; version: string; kind: string; plural: string; isClusterWide?: true }>;

export const httpRoutes: Kind = {
  group: "gateway.networking.k8s.io",
  version: "v1",
  kind: "HTTPRoute",
  plural: "httproutes",
};

export const volumeSnapshots: Kind = {
  group: "snapshot.storage.k8s.io",
  version: "v1",
  kind: "VolumeSnapshot",
  plural: "volumesnapshots",
};

export const volumeSnapshotClasses: Kind = {
  group: "snapshot.storage.k8s.io",
  version: "v1",
  kind: "VolumeSnapshotClass",
  plural: "volumesnapshotclasses",
  isClusterWide: true,
};

const deadlineMs = 30_000;

/** Registers a kind with an API server by name only: validating its fields is left to the controller. */
export async function define(cluster: ApiServer, { group, version, kind, plural, isClusterWide }: Kind): Promise<void> {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const approved = { "api-approved.kubernetes.io": "unapproved, a stand-in of a test" };
  const rejection = await cluster.apply({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: approved },
    spec: {
      group,
      scope: isClusterWide === true ? "Cluster" : "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: anything } }],
    },
  } as Parameters<ApiServer["apply"]>[0]);
  if (rejection !== undefined) throw new Error(rejection);
  await until(`the API server serves ${plural}`, deadlineMs, async () => {
    return (await cluster.ask("GET", `/apis/${group}/${version}/${plural}`)).status === 200;
  });
}
