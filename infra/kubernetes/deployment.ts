import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import {
  buildContainer,
  computeFilesChecksum,
  buildPullSecrets,
  podSecurity,
  scrapeAnnotations,
  buildTopologySpread,
  temporaryVolume,
} from "./pod.ts";
import { buildFilesInstaller, buildFilesVolumes } from "./files.ts";
import { type KubernetesOptions, findImage } from "./kubernetes-options.ts";
import { buildMetadata, buildPodLabels, buildSelectorLabels } from "./metadata.ts";

/** Rollout strategy in which a new pod becomes ready before an old one exits. */
const surgeFirst = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } as const;

/** How long a terminating pod keeps accepting connections, in ms: the cluster's machines stop routing to it only gradually. */
const lingerMs = 5_000;

/** Delays the stop signal to a pod that is being rolled. Uses Node, because the image has no shell or `sleep`. */
function buildDrain({ image, volumes }: ServiceSpec): Pick<types.input.core.v1.Container, "lifecycle"> {
  if (image !== "gatehouse" || volumes.length > 0) return {};
  return { lifecycle: { preStop: { exec: { command: ["node", "--eval", `setTimeout(() => {}, ${lingerMs})`] } } } };
}

/** Builds the Deployment for a service. A service that has a ledger on a volume is replaced, not rolled: otherwise, two writers would share the ledger. */
export function buildDeployment(spec: ServiceSpec, options: KubernetesOptions): types.input.apps.v1.Deployment {
  const selector = buildSelectorLabels(options.prefix, spec.name);
  const gatehouse = findImage(options, "gatehouse");
  return {
    metadata: buildMetadata(options, spec.name, spec.name),
    spec: {
      // When applying to a cluster, Pulumi leaves the replica count to the autoscaler; another tool that applies the objects would reset
      // the count.
      ...(options.rendered && spec.replicas.max > spec.replicas.min ? {} : { replicas: spec.replicas.min }),
      strategy: spec.volumes.length > 0 ? { type: "Recreate" } : surgeFirst,
      selector: { matchLabels: selector },
      template: {
        metadata: {
          labels: buildPodLabels(options.prefix, spec.name),
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
          topologySpreadConstraints: [...buildTopologySpread(selector)],
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

/** Builds a disruption budget that lets the cluster evict one pod of a service at a time, so that machines can be drained while other replicas stay. */
export function buildDisruptionBudget(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.policy.v1.PodDisruptionBudget {
  return {
    metadata: buildMetadata(options, spec.name, spec.name),
    spec: { maxUnavailable: 1, selector: { matchLabels: buildSelectorLabels(options.prefix, spec.name) } },
  };
}
