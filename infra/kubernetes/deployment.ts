import type { types } from "@pulumi/kubernetes";
import type { ServiceSpec } from "../services/service-spec.ts";
import { isAutoscaled } from "./autoscaler.ts";
import { containerOf } from "./container.ts";
import { filesInstaller, filesVolumes } from "./files.ts";
import { type KubernetesOptions, imageOf } from "./kubernetes-options.ts";
import { selectorLabels, stackLabels } from "./labels.ts";
import { filesChecksum, podLabels, podSecurity, scrapeAnnotations, spread, temporaryVolume } from "./pod.ts";

/** A new pod is ready before an old one ends. */
const handedOver = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } as const;

/** How long a pod that ends still takes connections: the cluster's machines learn only by and by that they are to send it none. */
const lingerMs = 5_000;

/** Before a rolled pod is told to stop, it lingers; by Node, because the image has no shell and nothing that sleeps. */
function drained({ image, volumes }: ServiceSpec): Pick<types.input.core.v1.Container, "lifecycle"> {
  if (image !== "gatehouse" || volumes.length > 0) return {};
  return { lifecycle: { preStop: { exec: { command: ["node", "--eval", `setTimeout(() => {}, ${lingerMs})`] } } } };
}

/** The Deployment of a service. One that keeps a ledger on a volume is replaced, not rolled: two writers would share it. */
export function deploymentOf(spec: ServiceSpec, options: KubernetesOptions): types.input.apps.v1.Deployment {
  const selector = selectorLabels(options.prefix, spec.name);
  const gatehouse = imageOf(options, "gatehouse");
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: spec.name, namespace: options.namespace, labels: stackLabels(options.prefix) },
    spec: {
      // With an autoscaler the number is the autoscaler's; said here as well, each `up` would put it back.
      ...(isAutoscaled(spec) ? {} : { replicas: spec.replicas.min }),
      strategy: spec.volumes.length > 0 ? { type: "Recreate" } : handedOver,
      selector: { matchLabels: { ...selector } },
      template: {
        metadata: {
          labels: { ...podLabels(options.prefix, spec) },
          annotations: { "gatehouse.io/files": filesChecksum([spec], options), ...scrapeAnnotations([spec], options) },
        },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: podSecurity,
          terminationGracePeriodSeconds: spec.stopGraceSeconds,
          topologySpreadConstraints: [...spread(selector)],
          initContainers: [...filesInstaller(spec, gatehouse)],
          containers: [{ ...containerOf(spec, imageOf(options, spec.image)), ...drained(spec) }],
          volumes: [
            temporaryVolume,
            ...filesVolumes(spec),
            ...spec.volumes.map(({ name }) => ({ name, persistentVolumeClaim: { claimName: name } })),
          ],
        },
      },
    },
  };
}

/** Lets the cluster take down one pod of a service at a time, so that nodes can be drained and a replica stays where there are several. */
export function disruptionBudget(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.policy.v1.PodDisruptionBudget {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: spec.name, namespace: options.namespace, labels: stackLabels(options.prefix) },
    spec: { maxUnavailable: 1, selector: { matchLabels: { ...selectorLabels(options.prefix, spec.name) } } },
  };
}
