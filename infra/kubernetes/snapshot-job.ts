import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import { containerOf } from "./container.ts";
import { type KubernetesOptions, imageOf } from "./kubernetes-options.ts";
import { stackLabels } from "./labels.ts";
import { podLabels, podSecurity, temporaryVolume } from "./pod.ts";
import { serviceAccess, type ServiceAccess } from "./service-account.ts";

/** How long one job may take, tries included. */
const jobDeadlineSeconds = 600;

/** A role can't name the snapshots that are still to be made. */
const ownSnapshots: types.input.rbac.v1.PolicyRule = {
  apiGroups: ["snapshot.storage.k8s.io"],
  resources: ["volumesnapshots"],
  verbs: ["create", "list", "delete"],
};

/**
 * The objects that take snapshots of the node's volume on a schedule: a job, and an account that may take, list and delete
 * snapshots of its namespace.
 */
export function snapshotJob(
  spec: ServiceSpec,
  schedule: string,
  options: KubernetesOptions,
): ServiceAccess & Readonly<{ job: types.input.batch.v1.CronJob }> {
  const { name } = spec;
  const metadata = { name, namespace: options.namespace, labels: stackLabels(options.prefix) };
  return {
    ...serviceAccess(name, [ownSnapshots], options),
    job: {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata,
      spec: {
        schedule,
        timeZone: "Etc/UTC",
        concurrencyPolicy: "Forbid",
        jobTemplate: {
          spec: { backoffLimit: 3, activeDeadlineSeconds: jobDeadlineSeconds, template: podTemplate(spec, options) },
        },
      },
    },
  };
}

function podTemplate(spec: ServiceSpec, options: KubernetesOptions): types.input.core.v1.PodTemplateSpec {
  return {
    metadata: { labels: { ...podLabels(options.prefix, spec) } },
    spec: {
      serviceAccountName: spec.name,
      automountServiceAccountToken: true,
      enableServiceLinks: false,
      restartPolicy: "Never",
      securityContext: podSecurity,
      containers: [containerOf(spec, imageOf(options, spec.image))],
      volumes: [temporaryVolume],
    },
  };
}
