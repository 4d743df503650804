import type { types } from "@pulumi/kubernetes";
import type { VolumeSpec } from "../spec/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";

/** The claim of a volume; one pod at a time writes to it. */
export function claimOf(volume: VolumeSpec, options: KubernetesOptions): types.input.core.v1.PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: volume.name, namespace: options.namespace, labels: stackLabels(options.prefix) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      ...(options.storageClass === undefined ? {} : { storageClassName: options.storageClass }),
      resources: { requests: { storage: `${volume.sizeGibibytes}Gi` } },
    },
  };
}
