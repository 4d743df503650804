import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import { buildContainer, buildPullSecrets, podSecurity, temporaryVolume } from "./pod.ts";
import { type KubernetesOptions, findImage } from "./kubernetes-options.ts";
import { buildMetadata, buildPodLabels } from "./metadata.ts";
import { buildServiceAccess, type ServiceAccess } from "./service-account.ts";

const jobDeadlineSeconds = 600;

/** Permissions on all snapshots in the namespace, because a role can't name snapshots that don't exist yet. */
const ownSnapshots: types.input.rbac.v1.PolicyRule = {
  apiGroups: ["snapshot.storage.k8s.io"],
  resources: ["volumesnapshots"],
  verbs: ["create", "list", "delete"],
};

/**
 * Builds the objects that take snapshots of the node's volume on a schedule: a job, and an account that may create, list and delete
 * snapshots in its namespace.
 */
export function buildSnapshotJob(
  spec: ServiceSpec,
  schedule: string,
  options: KubernetesOptions,
): ServiceAccess & Readonly<{ job: types.input.batch.v1.CronJob }> {
  const { name } = spec;
  return {
    ...buildServiceAccess(name, [ownSnapshots], options),
    job: {
      metadata: buildMetadata(options, name, name),
      spec: {
        schedule,
        timeZone: "Etc/UTC",
        concurrencyPolicy: "Forbid",
        jobTemplate: {
          spec: {
            backoffLimit: 3,
            activeDeadlineSeconds: jobDeadlineSeconds,
            template: buildPodTemplate(spec, options),
          },
        },
      },
    },
  };
}

function buildPodTemplate(spec: ServiceSpec, options: KubernetesOptions): types.input.core.v1.PodTemplateSpec {
  return {
    metadata: { labels: buildPodLabels(options.prefix, spec.name) },
    spec: {
      serviceAccountName: spec.name,
      automountServiceAccountToken: true,
      enableServiceLinks: false,
      ...buildPullSecrets(options),
      restartPolicy: "Never",
      securityContext: podSecurity,
      containers: [buildContainer(spec, findImage(options, spec.image))],
      volumes: [temporaryVolume],
    },
  };
}
