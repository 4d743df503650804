import { createHash } from "node:crypto";
import type { types } from "@pulumi/kubernetes";
import { serviceUser, type ServiceSpec } from "../spec/service-spec.ts";
import { selectorLabels, stackLabels, type Labels } from "./labels.ts";

/** What all pods of a stack have in common: users, seccomp, no service account token unless asked for. */
export const podSecurity: types.input.core.v1.PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: serviceUser.uid,
  runAsGroup: serviceUser.gid,
  fsGroup: serviceUser.gid,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
};

/** Scratch space of a pod's containers. */
export const temporaryVolume: types.input.core.v1.Volume = { name: "tmp", emptyDir: { sizeLimit: "128Mi" } };

/** Labels of a service's pods. */
export function podLabels(prefix: string, spec: ServiceSpec): Labels {
  return { ...stackLabels(prefix), ...selectorLabels(prefix, spec.name) };
}

/**
 * A checksum of the names of a service's files and of what is not secret in them, for the pod template: mounting changed data does
 * not restart a pod by itself.
 */
export function filesChecksum(specs: readonly ServiceSpec[]): string {
  const hash = createHash("sha256");
  for (const { name, content, secret } of specs.flatMap((spec) => spec.files)) {
    hash.update(`${name}\0`);
    if (!secret && typeof content === "string") hash.update(content);
  }
  return hash.digest("hex");
}

/** Spreads a service's pods over nodes of the cluster where there are several. */
export function spread(labels: Labels): readonly types.input.core.v1.TopologySpreadConstraint[] {
  return [
    {
      maxSkew: 1,
      topologyKey: "kubernetes.io/hostname",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { ...labels } },
    },
  ];
}
