import type { z } from "zod";
import { PlatformError } from "../stack-platform.ts";

/** The cluster refused, or could not be reached. */
export class ClusterError extends PlatformError {
  override readonly name = "ClusterError";
  override readonly code = "cluster_error";
}

/** An object as it is sent to a cluster. */
export type ClusterObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata?: Readonly<{ name: string; labels?: Readonly<Record<string, string>> }>;
  spec: unknown;
}>;

/** A change to an object: a merge patch, or the operations of a JSON patch. */
export type ClusterPatch = Readonly<
  | { type: "merge"; change: object }
  | { type: "json"; change: readonly Readonly<{ op: string; path: string; value?: unknown }>[] }
>;

/** The kinds that an upgrade knows, as kubectl names them. */
export type ClusterKind =
  | "statefulset"
  | "pod"
  | "persistentvolumeclaim"
  | "persistentvolume"
  | "volumesnapshot"
  | "volumesnapshotclass";

/** The few calls of a cluster that an upgrade needs, in the stack's namespace. Each has a deadline, and throws {@link ClusterError}. */
export type Cluster = Readonly<{
  /** Undefined where there is none of that name. */
  find: <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, name: string) => Promise<Shape | undefined>;
  list: <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, label?: string) => Promise<readonly Shape[]>;
  /** Whether the cluster knows this group and version. */
  serves: (group: string) => Promise<boolean>;
  /** Returns false where one of its name is there already. */
  create: (object: ClusterObject) => Promise<boolean>;
  /** Whether whoever queries the cluster has each of these rights: SelfSubjectAccessReviews, which it answers and does not keep. */
  reviewRights: (reviews: readonly ClusterObject[]) => Promise<readonly boolean[]>;
  /** Returns false where there is none of that name. */
  patch: (kind: ClusterKind, name: string, patch: ClusterPatch) => Promise<boolean>;
  /** Requests its removal, and does not wait for it; one that is not there is left at that. */
  remove: (kind: ClusterKind, name: string) => Promise<void>;
  /** What the only container of a pod printed. */
  readLogs: (pod: string) => Promise<string>;
  /** Runs a program in a container, and returns what it printed. */
  exec: (place: Readonly<{ pod: string; container: string }>, command: readonly string[]) => Promise<string>;
}>;
