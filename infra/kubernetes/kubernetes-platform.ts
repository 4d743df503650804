import * as k8s from "@pulumi/kubernetes";
import { ComponentResource, type ComponentResourceOptions, type ProviderResource, type Resource } from "@pulumi/pulumi";
import type { Attachment, NodeSpecs, Platform } from "../platform.ts";
import { workspaceVolume } from "../services/node/node-layout.ts";
import type { ServiceName, ServiceSpec, VolumeSpec } from "../services/service-spec.ts";
import { describeKubernetesNamespace, type Addresses, type RestartRoute } from "../services/stack-context.ts";
import { buildNodeAccess, type ServiceAccess } from "./service-account.ts";
import { buildAutoscaler, listAutoscaledFields } from "./autoscaler.ts";
import { buildDeployment, buildDisruptionBudget } from "./deployment.ts";
import {
  buildMetadata,
  buildObjectLabels,
  markAppliedOnce,
  markUnpruned,
  markWorkload,
  skipReadyWait,
} from "./metadata.ts";
import { listSecrets } from "./files.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import { denyAll, buildEdgePolicies } from "./network-policies.ts";
import { buildNodeConfMap, buildNodeStatefulSet } from "./node-stateful-set.ts";
import { buildDashboardMaps, buildMonitors } from "./existing-prometheus.ts";
import { buildPublicIngress, buildPublicRoutes } from "./public-ingress.ts";
import { buildSnapshotJob } from "./snapshot-job.ts";
import { buildNodeServices, buildPodsService, buildKubernetesService } from "./services.ts";

const rolloutTimeout = "10m";

/**
 * A deployment target: a namespace of a Kubernetes cluster.
 *
 * @example
 * import { Provider } from "@pulumi/kubernetes";
 * import { KubernetesNamespace } from "gatehouse-evm/pulumi/kubernetes";
 *
 * const platform = new KubernetesNamespace("cluster", {
 *   provider: new Provider("cluster", { context: "production" }),
 *   prefix: "pay",
 *   namespace: "pay",
 *   images: { gatehouse: "registry.example/gatehouse:1" },
 *   nodeVolumeGibibytes: 100,
 *   nodeRestart: "delete-pod",
 *   peers: "none",
 *   revisionKey: signerKey,
 *   protectData: true,
 *   rendered: false,
 * });
 * console.log(platform.addresses.sidecarStatus); // sidecar-status
 */
export class KubernetesNamespace extends ComponentResource implements Platform {
  readonly addresses: Addresses;
  readonly restart: RestartRoute;
  readonly #options: KubernetesOptions;
  readonly #protectData: boolean;
  readonly #provider: ProviderResource;
  /** The namespace, unless the stack uses an existing one. */
  readonly #namespace: readonly Resource[];
  readonly #claims = new Map<string, k8s.core.v1.PersistentVolumeClaim>();

  constructor(
    name: string,
    args: KubernetesOptions & Readonly<{ provider: ProviderResource; protectData: boolean }>,
    opts?: ComponentResourceOptions,
  ) {
    super("gatehouse:kubernetes:KubernetesNamespace", name, {}, { ...opts, providers: [args.provider] });
    this.#provider = args.provider;
    this.#options = args;
    this.#protectData = args.protectData;
    ({ addresses: this.addresses, restart: this.restart } = describeKubernetesNamespace(args));
    this.#namespace = args.createNamespace === false ? [] : [this.#makeNamespace(`${name}-namespace`)];
    new k8s.networking.v1.NetworkPolicy(`${name}-default-deny`, denyAll(args), this.#inNamespace(this));
    this.#exposePublicly(args);
    this.registerOutputs({});
  }

  #makeNamespace(name: string): Resource {
    const { namespace, peers, prefix, rendered } = this.#options;
    const labels = {
      ...buildObjectLabels(prefix, "stack"),
      // A host port requires a weaker Pod Security Standard.
      "pod-security.kubernetes.io/enforce": peers === "host-port" ? "privileged" : "restricted",
      "pod-security.kubernetes.io/warn": "restricted",
    };
    const manifest = { metadata: { name: namespace, labels } };
    // Pulumi enforces protection itself; in rendered YAML, the object must carry it for the tool that applies it.
    const marked = this.#protectData && rendered ? markUnpruned(manifest) : manifest;
    const { protect, retainOnDelete } = { protect: this.#protectData, retainOnDelete: this.#protectData };
    return new k8s.core.v1.Namespace(name, marked, { parent: this, protect, retainOnDelete });
  }

  /** Allows the connections between the services of a stack; everything else stays denied. */
  allowEdges(specs: readonly ServiceSpec[]): void {
    for (const policy of buildEdgePolicies(specs, this.#options)) {
      const { name } = policy.metadata as { name: string };
      new k8s.networking.v1.NetworkPolicy(`${this.#options.prefix}-allow-${name}`, policy, this.#inNamespace(this));
    }
  }

  registerMonitoring(specs: readonly ServiceSpec[]): void {
    const { prefix } = this.#options;
    for (const monitor of buildMonitors(specs, this.#options)) {
      const name = `${prefix}-${monitor.kind}-${monitor.metadata.name}`;
      new k8s.apiextensions.CustomResource(name, skipReadyWait(monitor), this.#inNamespace(this));
    }
    for (const map of buildDashboardMaps(this.#options)) {
      const { name } = map.metadata as { name: string };
      new k8s.core.v1.ConfigMap(`${prefix}-${name}`, map, this.#inNamespace(this));
    }
  }

  deploy(spec: ServiceSpec, { parent, dependsOn }: Attachment): Resource {
    const name = `${this.#options.prefix}-${spec.name}`;
    const claims = spec.volumes.map((volume) => this.#claim(volume, spec.name));
    const secret = this.#secret(spec, parent);
    const services = [
      [name, buildKubernetesService(spec, this.#options)],
      [`${name}-pods`, buildPodsService(spec, this.#options)],
    ] as const;
    for (const [serviceName, service] of services) {
      if (service === undefined) continue;
      new k8s.core.v1.Service(serviceName, skipReadyWait(service), this.#inNamespace(parent));
    }
    new k8s.policy.v1.PodDisruptionBudget(name, buildDisruptionBudget(spec, this.#options), this.#inNamespace(parent));
    const autoscaler = buildAutoscaler(spec, this.#options);
    if (autoscaler !== undefined) {
      // An update doesn't wait for this, because the autoscaler's metrics depend on the cluster, and are available only once the pods run.
      new k8s.autoscaling.v2.HorizontalPodAutoscaler(name, skipReadyWait(autoscaler), this.#inNamespace(parent));
    }
    const manifest = buildDeployment(spec, this.#options);
    return new k8s.apps.v1.Deployment(name, markWorkload(manifest, this.#options), {
      ...this.#inNamespace(parent),
      dependsOn: [...dependsOn, ...claims, ...secret],
      customTimeouts: { create: rolloutTimeout, update: rolloutTimeout },
      ignoreChanges: listAutoscaledFields(spec),
    });
  }

  deployNode(specs: NodeSpecs, { parent, dependsOn }: Attachment): Resource {
    const name = `${this.#options.prefix}-node`;
    const here = this.#inNamespace(parent);
    const needed: Resource[] = [
      ...this.#access(name, buildNodeAccess(this.#options), here),
      ...this.#nodeConf(specs.node, parent),
      ...[...specs.node.volumes, ...specs.sidecar.volumes].map((volume) => this.#claim(volume, "node")),
      ...this.#secret(specs.node, parent),
      ...this.#secret(specs.sidecar, parent),
    ];
    for (const service of buildNodeServices(specs, this.#options)) {
      const { name: serviceName } = service.metadata as { name: string };
      new k8s.core.v1.Service(`${this.#options.prefix}-${serviceName}-service`, skipReadyWait(service), here);
    }
    new k8s.policy.v1.PodDisruptionBudget(name, buildDisruptionBudget(specs.node, this.#options), here);
    if (specs.snapshots !== undefined) this.#snapshots(specs.snapshots, here);
    const manifest = buildNodeStatefulSet(specs, this.#options);
    return new k8s.apps.v1.StatefulSet(name, markWorkload(manifest, this.#options), {
      ...here,
      dependsOn: [...dependsOn, ...needed],
      customTimeouts: { create: rolloutTimeout, update: rolloutTimeout },
    });
  }

  /** Deploys public access without waiting for its address: the controller assigns the address, and no controller may be running. */
  #exposePublicly({ ingress, gatewayApi, prefix }: KubernetesOptions): void {
    if (ingress !== undefined) {
      const manifest = skipReadyWait(buildPublicIngress(this.#options, ingress));
      new k8s.networking.v1.Ingress(`${prefix}-namespace-public`, manifest, this.#inNamespace(this));
    }
    if (gatewayApi === undefined) return;
    for (const manifest of buildPublicRoutes(this.#options, gatewayApi)) {
      const name = `${prefix}-route-${manifest.metadata.name}`;
      new k8s.apiextensions.CustomResource(name, skipReadyWait(manifest), this.#inNamespace(this));
    }
  }

  #snapshots(
    { spec, schedule }: NonNullable<NodeSpecs["snapshots"]>,
    here: Readonly<{ parent: ComponentResource; provider: ProviderResource }>,
  ): void {
    const { job, ...access } = buildSnapshotJob(spec, schedule, this.#options);
    const name = `${this.#options.prefix}-${spec.name}`;
    const needed = this.#access(name, access, here);
    new k8s.batch.v1.CronJob(name, job, { ...here, dependsOn: [...needed] });
  }

  #access(
    name: string,
    { account, role, binding }: ServiceAccess,
    here: Readonly<{ parent: ComponentResource; provider: ProviderResource }>,
  ): readonly Resource[] {
    return [
      new k8s.core.v1.ServiceAccount(name, account, here),
      new k8s.rbac.v1.Role(name, role, here),
      new k8s.rbac.v1.RoleBinding(name, binding, here),
    ];
  }

  #nodeConf({ seed }: ServiceSpec, parent: ComponentResource): readonly Resource[] {
    if (seed === undefined) return [];
    const manifest = buildNodeConfMap(seed, this.#options);
    return [new k8s.core.v1.ConfigMap(`${this.#options.prefix}-node-conf`, manifest, this.#inNamespace(parent))];
  }

  #secret(spec: ServiceSpec, parent: ComponentResource): readonly Resource[] {
    const { prefix } = this.#options;
    return listSecrets(spec, this.#options).map(
      ([kind, manifest]) =>
        new k8s.core.v1.Secret(`${prefix}-${spec.name}-${kind}`, manifest, this.#inNamespace(parent)),
    );
  }

  /** Finds or creates the claim for a service's volume, which one pod at a time can write to. */
  #claim(volume: VolumeSpec, service: ServiceName): k8s.core.v1.PersistentVolumeClaim {
    const known = this.#claims.get(volume.name);
    if (known !== undefined) return known;
    const { nodeVolumeGibibytes, prefix, rendered, storageClass, volumeGrowth } = this.#options;
    const isWorkspace = volume.name === workspaceVolume;
    const size = isWorkspace ? nodeVolumeGibibytes : volume.sizeGibibytes;
    const retain = volume.retain && this.#protectData;
    // Set once, then left to the sidecar, so that a grown volume keeps its size.
    const isResizedLater = isWorkspace && volumeGrowth !== undefined;
    // A claim with a late-binding class is bound only once a pod uses it, and the pod depends on the claim.
    const unmarked = skipReadyWait({
      metadata: buildMetadata(this.#options, volume.name, service),
      spec: {
        accessModes: ["ReadWriteOnce"],
        ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
        resources: { requests: { storage: `${size}Gi` } },
      },
    });
    const kept = retain && rendered ? markUnpruned(unmarked) : unmarked;
    const claim = new k8s.core.v1.PersistentVolumeClaim(
      `${prefix}-${volume.name}`,
      rendered && isResizedLater ? markAppliedOnce(kept) : kept,
      {
        ...this.#inNamespace(this),
        protect: retain,
        retainOnDelete: retain,
        ignoreChanges: isResizedLater ? ["spec.resources.requests.storage"] : [],
      },
    );
    this.#claims.set(volume.name, claim);
    return claim;
  }

  #inNamespace(parent: ComponentResource) {
    return { parent, provider: this.#provider, dependsOn: [...this.#namespace] };
  }
}
