import type { types } from "@pulumi/kubernetes";
import { workspaceVolume } from "../services/node/node-layout.ts";
import type { VolumeSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { buildObjectLabels, type Component } from "./labels.ts";

/** Builds the claim for a service's volume, which one pod at a time can write to. */
export function buildClaim(
  volume: VolumeSpec,
  component: Component,
  options: KubernetesOptions,
): types.input.core.v1.PersistentVolumeClaim {
  const size = volume.name === workspaceVolume ? options.nodeVolumeGibibytes : volume.sizeGibibytes;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: volume.name, namespace: options.namespace, labels: buildObjectLabels(options.prefix, component) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      ...(options.storageClass === undefined ? {} : { storageClassName: options.storageClass }),
      resources: { requests: { storage: `${size}Gi` } },
    },
  };
}

/** Lists the properties of a volume claim that the program sets once and then leaves to the sidecar, so that a volume that has grown keeps its size. */
export function listLeftToSidecar(volume: VolumeSpec, { volumeGrows }: KubernetesOptions): string[] {
  return volumeGrows && volume.name === workspaceVolume ? ["spec.resources.requests.storage"] : [];
}
