import type { z } from "zod";

/** An object to create in a cluster. */
export type ClusterObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; labels: Readonly<Record<string, string>> }>;
  spec: unknown;
}>;

/** A change to an object: a merge patch, or the operations of a JSON patch. */
export type ClusterPatch = Readonly<
  | { type: "merge"; change: object }
  | { type: "json"; change: readonly Readonly<{ op: string; path: string; value?: unknown }>[] }
>;

/** Kinds that an upgrade uses, in kubectl's spelling. */
export type ClusterKind = "statefulset" | "pod" | "persistentvolumeclaim" | "volumesnapshot";

/** Cluster calls that an upgrade needs, in the stack's namespace. Each has a deadline and throws a PlatformError. */
export type Cluster = Readonly<{
  /** Returns undefined if no object has that name. */
  find: <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, name: string) => Promise<Shape | undefined>;
  list: <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, label: string) => Promise<readonly Shape[]>;
  /** Returns whether the cluster serves this group and version. */
  serves: (group: string) => Promise<boolean>;
  /** Returns false if an object of that name exists. */
  create: (object: ClusterObject) => Promise<boolean>;
  /** Finds those of the permissions, such as `get pods/log`, that the caller lacks. */
  findMissingRights: (rights: readonly string[]) => Promise<readonly string[]>;
  /** Returns false if no object has that name. */
  patch: (kind: ClusterKind, name: string, patch: ClusterPatch) => Promise<boolean>;
  /** Requests the removal without waiting for it; no-op if the object was already removed. */
  remove: (kind: ClusterKind, name: string) => Promise<void>;
  /** Reads the output of a pod's only container. */
  readLogs: (pod: string) => Promise<string>;
  /** Runs a program in a container and returns its output. */
  exec: (place: Readonly<{ pod: string; container: string }>, command: readonly string[]) => Promise<string>;
}>;
