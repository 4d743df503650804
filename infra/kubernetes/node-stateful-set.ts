import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import type { NodeSpecs } from "../platform.ts";
import { workspaceDirectory, workspaceVolume } from "../services/node/node-layout.ts";
import { buildSeedCommand, hostIpVariable, stagedBin } from "../services/node/node-conf.ts";
import { findFilesDirectory, type HostAddress, type SeedSpec, type ServiceSpec } from "../services/service-spec.ts";
import {
  buildContainer,
  copierResources,
  nameOf,
  buildSecurityContext,
  computeFilesChecksum,
  buildPullSecrets,
  podSecurity,
  scrapeAnnotations,
  temporaryVolume,
} from "./pod.ts";
import { buildFilesInstaller, buildFilesVolumes, listPlacedFiles } from "./files.ts";
import { type KubernetesOptions, findImage } from "./kubernetes-options.ts";
import { buildMetadata, buildPodLabels, buildSelectorLabels } from "./metadata.ts";

type Container = types.input.core.v1.Container;

/** Name of the service account, whose only permission is to restart the node. */
export const nodeAccount = "node";

const seedDirectory = "/run/gatehouse/seed";

/** Directory with the stack's files for a node's workspace, if the node's image has an entry point. */
const placedDirectory = "/run/gatehouse/placed";

/**
 * Builds the StatefulSet for a node and its sidecar. The sidecar is a native one (an init container that keeps running) and starts before
 * the node: its startup probe passes once node.conf is correct, so that the node uses that file from its first start.
 */
export function buildNodeStatefulSet(
  { node, sidecar, restore }: NodeSpecs,
  options: KubernetesOptions,
): types.input.apps.v1.StatefulSet {
  const gatehouse = findImage(options, "gatehouse");
  const volumes = [...new Map([...node.volumes, ...sidecar.volumes].map((volume) => [volume.name, volume])).values()];
  return {
    metadata: buildMetadata(options, node.name, node.name),
    spec: {
      replicas: 1,
      serviceName: node.name,
      podManagementPolicy: "OrderedReady",
      selector: { matchLabels: buildSelectorLabels(options.prefix, node.name) },
      template: {
        metadata: {
          labels: buildPodLabels(options.prefix, node.name),
          annotations: {
            "gatehouse.io/files": computeFilesChecksum([node, sidecar], options),
            ...scrapeAnnotations([node, sidecar], options),
          },
        },
        spec: {
          serviceAccountName: nodeAccount,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...buildPullSecrets(options),
          ...readScheduling(options),
          shareProcessNamespace: options.nodeRestart === "signal",
          securityContext: podSecurity,
          terminationGracePeriodSeconds: node.stopGraceSeconds,
          initContainers: [
            ...(restore === undefined ? [] : [buildContainer(restore, gatehouse)]),
            ...buildProgramsCopier(node, options),
            ...(needsKeysFirst(node) ? [] : buildConfSeeder(gatehouse, node)),
            ...buildFilesInstaller(sidecar, gatehouse),
            ...buildFilesInstaller(node, gatehouse),
            ...(needsKeysFirst(node) ? buildConfSeeder(gatehouse, node) : []),
            { ...addApiToken(buildContainer(sidecar, gatehouse)), restartPolicy: "Always" },
          ],
          containers: [buildNodeContainer(node, options)],
          volumes: [
            temporaryVolume,
            apiTokenVolume,
            ...(listPlacedFiles(node).length === 0
              ? []
              : [
                  {
                    name: nameOf(node, "placed"),
                    secret: { secretName: nameOf(node, "placed"), defaultMode: 0o440 },
                  },
                ]),
            ...(node.seed === undefined ? [] : [{ name: nodeConfName, configMap: { name: nodeConfName } }]),
            ...(node.programs === undefined ? [] : [{ name: nameOf(node, "bin"), emptyDir: programsVolume }]),
            ...buildFilesVolumes(sidecar),
            ...buildFilesVolumes(node),
            ...volumes.map(({ name }) => ({ name, persistentVolumeClaim: { claimName: name } })),
          ],
        },
      },
    },
  };
}

/** Whether the seeding container checks the node's keys, in which case they must exist before it starts. */
function needsKeysFirst({ seed }: ServiceSpec): boolean {
  return seed?.locations?.entryPoint !== undefined;
}

/** The account's token and the files that its client reads, as a cluster by default mounts them into every container of a pod. */
const apiTokenVolume: types.input.core.v1.Volume = {
  name: "api-token",
  projected: {
    defaultMode: 0o440,
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3_607 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
    ],
  },
};

/** Mounts the account's token into a container: the sidecar uses it to restart the node. The node itself doesn't need the token. */
function addApiToken(container: Container): Container {
  const mount = {
    name: apiTokenVolume.name,
    mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
    readOnly: true,
  };
  return { ...container, volumeMounts: [...((container.volumeMounts ?? []) as (typeof mount)[]), mount] };
}

function readScheduling({ nodeScheduling: scheduling }: KubernetesOptions): Partial<types.input.core.v1.PodSpec> {
  if (scheduling === undefined) return {};
  const given = Object.entries(scheduling).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<types.input.core.v1.PodSpec>;
}

function buildNodeContainer(node: ServiceSpec, options: KubernetesOptions): Container {
  const container = buildContainer(node, findImage(options, node.image));
  if (options.peers !== "host-port") return container;
  const ports = node.ports.map(({ name, number, audience }) => ({
    name,
    containerPort: number,
    protocol: "TCP",
    ...(audience === "peers" ? { hostPort: number } : {}),
  }));
  return { ...container, ports };
}

/** Space for the programs and for the files that the node writes next to them; a pod that exceeds it is evicted. */
const programsVolume = { sizeLimit: "16Gi" } as const;

/**
 * Builds the init container that makes a new pod run its own image's programs, whatever an earlier pod ran. It uses that image's `cp`,
 * because no other container has access to the programs.
 */
function buildProgramsCopier(node: ServiceSpec, options: KubernetesOptions): readonly Container[] {
  if (node.programs === undefined) return [];
  return [
    {
      name: "copy-programs",
      image: findImage(options, node.image),
      command: ["cp", "-RP", `${node.programs}/.`, stagedBin],
      securityContext: buildSecurityContext(node.user),
      resources: { limits: { cpu: "1", memory: "256Mi" }, requests: { cpu: "0.05", memory: "64Mi" } },
      volumeMounts: [{ name: nameOf(node, "bin"), mountPath: stagedBin }],
    },
  ];
}

const nodeConfName = "node-conf";

export function buildNodeConfMap(seed: SeedSpec, options: KubernetesOptions): types.input.core.v1.ConfigMap {
  return { metadata: buildMetadata(options, nodeConfName, "node"), data: { "node.conf": seed.content } };
}

/** Builds the environment variable for the address that the node announces to its peers; the cluster fills in the machine's address (downward API). */
function buildHostIp(host: HostAddress): types.input.core.v1.EnvVar {
  if (host.kind === "fixed") return { name: hostIpVariable, value: host.address };
  const fieldPath = host.kind === "pod" ? "status.podIP" : "status.hostIP";
  return { name: hostIpVariable, valueFrom: { fieldRef: { fieldPath } } };
}

/** Builds the init container that copies node.conf to the workspace if it is missing: the sidecar writes the file, and a ConfigMap is read-only. */
function buildConfSeeder(image: Input<string>, node: ServiceSpec): readonly Container[] {
  const { seed, user } = node;
  if (seed === undefined) return [];
  return [
    {
      name: "seed-node-conf",
      image,
      command: ["node", ...buildSeedCommand(seed, { conf: `${seedDirectory}/node.conf`, placed: placedDirectory })],
      env: [buildHostIp(seed.host)],
      securityContext: buildSecurityContext(user),
      resources: copierResources,
      volumeMounts: [
        { name: nodeConfName, mountPath: seedDirectory, readOnly: true },
        { name: workspaceVolume, mountPath: workspaceDirectory },
        ...(node.programs === undefined ? [] : [{ name: nameOf(node, "bin"), mountPath: stagedBin }]),
        ...(listPlacedFiles(node).length === 0
          ? []
          : [{ name: nameOf(node, "placed"), mountPath: placedDirectory, readOnly: true }]),
        ...(needsKeysFirst(node)
          ? [{ name: nameOf(node, "files"), mountPath: findFilesDirectory(node), readOnly: true }]
          : []),
      ],
    },
  ];
}
