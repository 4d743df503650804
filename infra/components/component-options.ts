import type { Input, Resource } from "@pulumi/pulumi";
import type { Platform } from "../platform.ts";

/** What every component is given beside its own arguments. */
export type Placed = Readonly<{
  /** The Docker host or Kubernetes namespace to deploy to. */
  platform: Platform;
  /** What has to be up before. */
  after?: readonly Input<Resource>[];
}>;
