import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import type { NodeSpecs } from "../platform.ts";
import { workspaceDirectory, workspaceVolume } from "../services/node-layout.ts";
import { seedCommand, stagedBin } from "../services/seed-program.ts";
import type { ServiceSpec } from "../services/service-spec.ts";
import { containerOf, programsVolume, restricted } from "./container.ts";
import { filesInstaller, filesVolumes } from "./files.ts";
import { type KubernetesOptions, imageOf } from "./kubernetes-options.ts";
import { selectorLabels, stackLabels } from "./labels.ts";
import { hostIpOf, nodeConfName } from "./node-conf-map.ts";
import { filesChecksum, podLabels, podSecurity, scrapeAnnotations, temporaryVolume } from "./pod.ts";

type Container = types.input.core.v1.Container;

/** Name of the service account that may restart the node, and nothing else. */
export const nodeAccount = "node";

const seedDirectory = "/run/gatehouse/seed";

/**
 * The StatefulSet of a node and its sidecar. The sidecar is a native one (an init container that keeps running), started before
 * the node: when its startup probe passes, node.conf is right, so that the node's first start is with the right one.
 */
export function nodeStatefulSet(
  { node, sidecar, restore }: NodeSpecs,
  options: KubernetesOptions,
): types.input.apps.v1.StatefulSet {
  const gatehouse = imageOf(options, "gatehouse");
  const kept = [...new Map([...node.volumes, ...sidecar.volumes].map((volume) => [volume.name, volume])).values()];
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: node.name, namespace: options.namespace, labels: stackLabels(options.prefix) },
    spec: {
      replicas: 1,
      serviceName: node.name,
      podManagementPolicy: "OrderedReady",
      selector: { matchLabels: { ...selectorLabels(options.prefix, node.name) } },
      template: {
        metadata: {
          labels: { ...podLabels(options.prefix, node) },
          annotations: {
            "gatehouse.io/files": filesChecksum([node, sidecar], options),
            ...scrapeAnnotations([node, sidecar], options),
          },
        },
        spec: {
          serviceAccountName: nodeAccount,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          shareProcessNamespace: options.restartStrategy === "signal",
          securityContext: podSecurity,
          terminationGracePeriodSeconds: node.stopGraceSeconds,
          initContainers: [
            ...(restore === undefined ? [] : [containerOf(restore, gatehouse)]),
            ...copiedPrograms(node, options),
            ...seedConfiguration(gatehouse, node),
            ...filesInstaller(sidecar, gatehouse),
            ...filesInstaller(node, gatehouse),
            { ...containerOf(sidecar, gatehouse), restartPolicy: "Always" },
          ],
          containers: [nodeContainer(node, options)],
          volumes: [
            temporaryVolume,
            ...(node.seed === undefined ? [] : [{ name: nodeConfName, configMap: { name: nodeConfName } }]),
            ...(node.programs === undefined ? [] : [{ name: programsVolume(node), emptyDir: programsRoom }]),
            ...filesVolumes(sidecar),
            ...filesVolumes(node),
            ...kept.map(({ name }) => ({ name, persistentVolumeClaim: { claimName: name } })),
          ],
        },
      },
    },
  };
}

function nodeContainer(node: ServiceSpec, options: KubernetesOptions): Container {
  const container = containerOf(node, imageOf(options, node.image));
  if (options.peers !== "host-port") return container;
  const ports = node.ports.map(({ name, number, audience }) => ({
    name,
    containerPort: number,
    protocol: "TCP",
    ...(audience === "peers" ? { hostPort: number } : {}),
  }));
  return { ...container, ports };
}

/** What the programs may take, and what the node writes beside them; a pod that takes more is evicted. */
const programsRoom = { sizeLimit: "16Gi" } as const;

/** A new pod runs the programs of its image, whatever an earlier one had; with `cp` of that image, because no other container sees them. */
function copiedPrograms(node: ServiceSpec, options: KubernetesOptions): readonly Container[] {
  if (node.programs === undefined) return [];
  return [
    {
      name: "copy-programs",
      image: imageOf(options, node.image),
      command: ["cp", "-RP", `${node.programs}/.`, stagedBin],
      securityContext: { ...restricted, runAsUser: node.user.uid, runAsGroup: node.user.gid },
      resources: { limits: { cpu: "1", memory: "256Mi" }, requests: { cpu: "0.05", memory: "64Mi" } },
      volumeMounts: [{ name: programsVolume(node), mountPath: stagedBin }],
    },
  ];
}

/** A ConfigMap can't be written to, and the sidecar has to: so node.conf is copied to the workspace, unless one is there. */
function seedConfiguration(image: Input<string>, node: ServiceSpec): readonly Container[] {
  const { seed, user } = node;
  if (seed === undefined) return [];
  return [
    {
      name: "seed-node-conf",
      image,
      command: ["node", ...seedCommand(seed, `${seedDirectory}/node.conf`)],
      env: [hostIpOf(seed.host)],
      securityContext: { ...restricted, runAsUser: user.uid, runAsGroup: user.gid },
      resources: { limits: { cpu: "0.5", memory: "128Mi" }, requests: { cpu: "0.05", memory: "64Mi" } },
      volumeMounts: [
        { name: nodeConfName, mountPath: seedDirectory, readOnly: true },
        { name: workspaceVolume, mountPath: workspaceDirectory },
        ...(node.programs === undefined ? [] : [{ name: programsVolume(node), mountPath: stagedBin }]),
      ],
    },
  ];
}
