import type { types } from "@pulumi/kubernetes";
import { findServiceRow } from "#daemon/stack-services.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import { buildContainer } from "./container.ts";
import { buildFilesInstaller, buildFilesVolumes } from "./files.ts";
import { type KubernetesOptions, findImage } from "./kubernetes-options.ts";
import { buildObjectLabels, buildPodLabels, buildSelectorLabels } from "./labels.ts";
import {
  computeFilesChecksum,
  buildPullSecrets,
  podSecurity,
  scrapeAnnotations,
  spreadPods,
  temporaryVolume,
} from "./pod.ts";

/** Strategy in which a new pod is ready before an old one ends. */
const handedOver = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } as const;

/** Time that an ending pod still takes connections, in ms: the cluster's machines learn only gradually to send it none. */
const lingerMs = 5_000;

/** Has a rolled pod linger before it is told to stop; by Node, because the image has no shell and nothing that sleeps. */
function buildDrain({ image, volumes }: ServiceSpec): Pick<types.input.core.v1.Container, "lifecycle"> {
  if (image !== "gatehouse" || volumes.length > 0) return {};
  return { lifecycle: { preStop: { exec: { command: ["node", "--eval", `setTimeout(() => {}, ${lingerMs})`] } } } };
}

/** Builds the Deployment of a service. One that keeps a ledger on a volume is replaced, not rolled: two writers would share it. */
export function buildDeployment(spec: ServiceSpec, options: KubernetesOptions): types.input.apps.v1.Deployment {
  const selector = buildSelectorLabels(options.prefix, spec.name);
  const gatehouse = findImage(options, "gatehouse");
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: spec.name, namespace: options.namespace, labels: buildObjectLabels(options.prefix, spec.name) },
    spec: {
      // In a cluster, Pulumi leaves the number to the autoscaler; another one that applies the objects would put it back.
      ...(options.rendered && spec.replicas.max > spec.replicas.min ? {} : { replicas: spec.replicas.min }),
      strategy: spec.volumes.length > 0 ? { type: "Recreate" } : handedOver,
      selector: { matchLabels: { ...selector } },
      template: {
        metadata: {
          labels: { ...buildPodLabels(options.prefix, spec.name) },
          annotations: {
            "gatehouse.io/files": computeFilesChecksum([spec], options),
            ...scrapeAnnotations([spec], options),
          },
        },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...buildPullSecrets(options),
          securityContext: podSecurity,
          terminationGracePeriodSeconds: spec.stopGraceSeconds,
          topologySpreadConstraints: [...spreadPods(selector)],
          initContainers: [...buildFilesInstaller(spec, gatehouse)],
          containers: [{ ...buildContainer(spec, findImage(options, spec.image)), ...buildDrain(spec) }],
          volumes: [
            temporaryVolume,
            ...buildFilesVolumes(spec),
            ...spec.volumes.map(({ name }) => ({ name, persistentVolumeClaim: { claimName: name } })),
          ],
        },
      },
    },
  };
}

/** Builds a budget that lets the cluster take down one pod of a service at a time, so that nodes can be drained and one of several replicas stays. */
export function buildDisruptionBudget(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.policy.v1.PodDisruptionBudget {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: spec.name, namespace: options.namespace, labels: buildObjectLabels(options.prefix, spec.name) },
    spec: { maxUnavailable: 1, selector: { matchLabels: { ...buildSelectorLabels(options.prefix, spec.name) } } },
  };
}

/** Target for the use of CPU, as a part of its limit: room for a payment burst while another pod starts. A share of the request would be a part of that. */
const cpuTarget = 0.7;
/** Time without need before pods are removed, so that a wave of payments is not met by too few. */
const scaleDownAfterSeconds = 300;

/**
 * Builds the autoscaler of a service whose ledger is in a database, by its use of CPU; undefined for any other. One whose bounds are the same has it too:
 * if the autoscaler went with the bounds' difference, it would scale the service once more before Pulumi deleted it.
 */
export function buildAutoscaler(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.autoscaling.v2.HorizontalPodAutoscaler | undefined {
  if (!hasAutoscaler(spec)) return undefined;
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: spec.name, namespace: options.namespace, labels: buildObjectLabels(options.prefix, spec.name) },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: spec.name },
      minReplicas: spec.replicas.min,
      maxReplicas: spec.replicas.max,
      metrics: [
        {
          type: "Resource",
          resource: {
            name: "cpu",
            target: { type: "AverageValue", averageValue: `${Math.round(spec.limits.cpus * cpuTarget * 1_000)}m` },
          },
        },
      ],
      behavior: {
        scaleDown: {
          stabilizationWindowSeconds: scaleDownAfterSeconds,
          policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
        },
      },
    },
  };
}

function hasAutoscaler({ name, volumes }: ServiceSpec): boolean {
  return findServiceRow(name).keeps === "ledger" && volumes.length === 0;
}

/** Lists the properties of a Deployment that the program sets once and then leaves to the autoscaler. */
export function listLeftToAutoscaler(spec: ServiceSpec): string[] {
  return hasAutoscaler(spec) ? ["spec.replicas"] : [];
}
