import type { z } from "zod";
import { PlatformError } from "../stack-platform.ts";

/** The cluster rejected the call or could not be reached. */
export class ClusterError extends PlatformError {
  override readonly name = "ClusterError";
  override readonly code = "cluster_error";
}

/** An object to create in a cluster. */
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

/** Kinds that an upgrade uses, in kubectl's spelling. */
export type ClusterKind =
  | "statefulset"
  | "pod"
  | "persistentvolumeclaim"
  | "persistentvolume"
  | "volumesnapshot"
  | "volumesnapshotclass";

/** Cluster calls that an upgrade needs, in the stack's namespace. Each has a deadline and throws {@link ClusterError}. */
export type Cluster = Readonly<{
  /** Returns undefined if no object has that name. */
  find: <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, name: string) => Promise<Shape | undefined>;
  list: <Shape>(shape: z.ZodType<Shape>, kind: ClusterKind, label?: string) => Promise<readonly Shape[]>;
  /** Returns whether the cluster serves this group and version. */
  serves: (group: string) => Promise<boolean>;
  /** Returns false if an object of that name exists. */
  create: (object: ClusterObject) => Promise<boolean>;
  /** Returns, for each permission, whether the caller has it; uses SelfSubjectAccessReviews, which the cluster does not store. */
  reviewRights: (reviews: readonly ClusterObject[]) => Promise<readonly boolean[]>;
  /** Returns false if no object has that name. */
  patch: (kind: ClusterKind, name: string, patch: ClusterPatch) => Promise<boolean>;
  /** Requests the removal without waiting for it; no-op if the object was already removed. */
  remove: (kind: ClusterKind, name: string) => Promise<void>;
  /** Reads the output of a pod's only container. */
  readLogs: (pod: string) => Promise<string>;
  /** Runs a program in a container and returns its output. */
  exec: (place: Readonly<{ pod: string; container: string }>, command: readonly string[]) => Promise<string>;
}>;
