import * as docker from "@pulumi/docker";
import {
  ComponentResource,
  type ComponentResourceOptions,
  type Input,
  type Output,
  type Resource,
} from "@pulumi/pulumi";
import type { Attachment, NodeSpecs, Platform, Scope } from "../platform.ts";
import { requireNoProblems } from "../components/service.ts";
import type { CommonArgs } from "../services/built-service.ts";
import { enginePathInProxy, buildEngineProxySpec } from "../services/engine-proxy-spec.ts";
import { workspace } from "../services/node/node-layout.ts";
import {
  findFilesDirectory,
  listLiveDeliveries,
  toVolumeKey,
  type FileSpec,
  type ImageName,
  type ServiceSpec,
  type VolumeSpec,
} from "../services/service-spec.ts";
import { findBinDirectory } from "../services/node/node-conf.ts";
import { describeDockerHost, dockerAddresses, type Published, type RestartRoute } from "../services/stack-context.ts";
import { buildContainerArgs, labelPrefix, listLabels, type Placement } from "./container-args.ts";
import { deliverFiles, type FileDelivery } from "./file-delivery.ts";
import { healthTimeProperties } from "./health-check.ts";
import { prepareNode } from "./prepared-node.ts";
import { createProgramVolumes, createVolume, type ProgramVolumes } from "./node-volumes.ts";
import { listPublications, isReachableFromOutside, type PublishOptions } from "./publications.ts";

/** Engine, images and ports for a Docker host target. */
export type DockerHostArgs = Readonly<{
  /** The engine's provider, used by every resource deployed here, regardless of which component owns it. */
  provider: NonNullable<Scope["provider"]>;
  /** Prefix of all names, e.g. `gatehouse-dev`. */
  prefix: string;
  images: Readonly<Partial<Record<ImageName, Input<string>>>>;
  /** Address on which public ports are published. */
  publishAddress: string;
  hostPorts: PublishOptions["hostPorts"];
  /** The engine's socket on the host, used only by the engine proxy, and the group that has access to it. */
  engineSocket: Readonly<{ path: string; group: number | undefined }>;
  /** Settings and limits for the engine proxy that override the deployment's. */
  engineProxy?: CommonArgs | undefined;
  /** Whether chain data and ledgers are protected against deletion. */
  protectData: boolean;
  /** Whether the engine supports a separate health check interval while a container starts (Engine API 1.44); unknown by default. */
  startInterval?: boolean | undefined;
}>;

/**
 * A Docker host target: a public and an internal network, the volumes, and one container per service.
 *
 * @example
 * import { Provider } from "@pulumi/docker";
 * import { DockerHost } from "gatehouse-evm/pulumi/docker";
 *
 * new DockerHost("host", {
 *   provider: new Provider("engine", { host: "unix:///var/run/docker.sock" }),
 *   prefix: "pay", images: { gatehouse: "registry.example/gatehouse:1" },
 *   publishAddress: "127.0.0.1", hostPorts: {}, protectData: true,
 *   engineSocket: { path: "/var/run/docker.sock", group: undefined },
 * });
 */
export class DockerHost extends ComponentResource implements Platform {
  readonly addresses = dockerAddresses;
  readonly published: Published;
  readonly restart: RestartRoute;
  readonly #args: DockerHostArgs;
  readonly #edge: docker.Network;
  readonly #private: docker.Network;
  readonly #volumes = new Map<string, docker.Volume>();
  readonly #programVolumes = new Map<string, ProgramVolumes>();

  constructor(name: string, args: DockerHostArgs, opts?: ComponentResourceOptions) {
    super("gatehouse:docker:DockerHost", name, {}, { ...opts, providers: [args.provider] });
    this.#args = args;
    ({ published: this.published, restart: this.restart } = describeDockerHost(args));
    this.#edge = this.#network("edge", false);
    this.#private = this.#network("private", true);
    this.registerOutputs({});
  }

  /** Does nothing: on Docker, the two networks control access, and services on the private network can reach each other. */
  allowEdges(): void {}

  /** Does nothing: a Docker host has no registry of monitored services. */
  registerMonitoring(): void {}

  deploy(spec: ServiceSpec, attachment: Attachment): Resource {
    return this.#deploy(spec, attachment, {
      files: this.#deliverFiles(spec, attachment.parent),
      labels: this.#labels(),
    });
  }

  #deploy(
    spec: ServiceSpec,
    { parent, dependsOn }: Attachment,
    { files, labels }: Pick<Placement, "files" | "labels">,
  ): docker.Container {
    // The labels omit the delivering containers' ids: the running service picks up later deliveries itself.
    const live = listLiveDeliveries(spec).map(({ kind, directory, files: delivered }) => ({
      directory,
      delivery: this.#deliver(spec, delivered, kind, parent),
    }));
    const containerName = `${this.#args.prefix}-${spec.name}`;
    const placement: Placement = {
      containerName,
      image: this.#image(spec.image),
      networks: this.#networksOf(spec),
      volumes: Object.fromEntries(spec.volumes.map((volume) => [toVolumeKey(volume), this.#volume(volume).name])),
      programs: spec.programs === undefined ? undefined : this.#programs(spec).copy.name,
      files,
      live: live.map(({ delivery, directory }) => ({ volumeName: delivery.volume.name, containerPath: directory })),
      published: listPublications(spec, this.#args),
      hostFiles: this.#hostFiles(spec),
      groups:
        spec.name === "engine-proxy" ? [this.#args.engineSocket.group].flatMap((group) => group ?? []).map(String) : [],
      labels,
      startInterval: this.#args.startInterval,
    };
    const args = buildContainerArgs(spec, placement);
    return new docker.Container(placement.containerName, args, {
      parent,
      provider: this.#args.provider,
      dependsOn: [...dependsOn, ...live.map(({ delivery }) => delivery.container)],
      // Pulumi rejects an ignored property whose object is absent.
      ignoreChanges: args.healthcheck === undefined ? [] : [...healthTimeProperties],
      // Only one container at a time can use a name or a published port.
      deleteBeforeReplace: true,
    });
  }

  /**
   * @throws {ConfigError} if the engine proxy would reject its settings.
   */
  deployNode(specs: NodeSpecs, attachment: Attachment): Resource {
    const { node, sidecar } = specs;
    const { prefix, provider } = this.#args;
    const places = { edge: this.#edge.name, workspace: this.#volume(workspace).name, labels: this.#labels() };
    const programs = node.programs === undefined ? undefined : this.#programs(node);
    const files = this.#deliverFiles(node, attachment.parent);
    const before = files === undefined ? attachment.dependsOn : [...attachment.dependsOn, files.container];
    const options = { prefix, provider, image: this.#image.bind(this), ...places, programs, keys: files?.volume };
    const { steps, labels } = prepareNode(specs, options, { ...attachment, dependsOn: before });
    const after = { ...attachment, dependsOn: [...attachment.dependsOn, ...steps] };
    const deployed = this.#deploy(node, after, { files, labels: { ...this.#labels(), ...labels } });
    const { engineProxy } = requireNoProblems({
      engineProxy: buildEngineProxySpec({
        ...this.#args.engineProxy,
        container: `${prefix}-node`,
        binDirectory: findBinDirectory(node),
        cli: node.seed?.locations?.entryPoint?.cli,
      }),
    });
    const proxy = this.deploy(engineProxy.spec, attachment);
    return this.deploy(sidecar, { ...attachment, dependsOn: [...attachment.dependsOn, deployed, proxy] });
  }

  #deliverFiles(spec: ServiceSpec, parent: ComponentResource) {
    if (spec.files.length === 0) return undefined;
    const { volume, container } = this.#deliver(spec, spec.files, "files", parent);
    return { volume: volume.name, revision: container.id, container };
  }

  #deliver(spec: ServiceSpec, files: readonly FileSpec[], kind: string, parent: ComponentResource): FileDelivery {
    return deliverFiles(spec, files, {
      containerName: `${this.#args.prefix}-${spec.name}-${kind}`,
      image: this.#image("gatehouse"),
      labels: this.#labels(),
      options: { parent, provider: this.#args.provider },
    });
  }

  #hostFiles({ name, existingFiles, ...spec }: ServiceSpec): Placement["hostFiles"] {
    if (name === "engine-proxy") return [{ hostPath: this.#args.engineSocket.path, path: enginePathInProxy }];
    if (existingFiles?.kind !== "host") return [];
    return [{ hostPath: existingFiles.directory, path: findFilesDirectory({ name, ...spec }) }];
  }

  #image(name: ImageName): Input<string> {
    const image = this.#args.images[name];
    if (image === undefined) throw new Error(`this Docker host was given no image named ${name}`);
    return image;
  }

  /** An engine publishes no ports for a container that is only on internal networks. */
  #networksOf(spec: ServiceSpec): readonly Output<string>[] {
    if (spec.ports.length === 0) return [];
    return isReachableFromOutside(spec, this.#args) ? [this.#edge.name, this.#private.name] : [this.#private.name];
  }

  #network(role: string, internal: boolean): docker.Network {
    const name = `${this.#args.prefix}-${role}`;
    return new docker.Network(
      name,
      { name, driver: "bridge", internal, labels: listLabels(this.#labels()) },
      { parent: this },
    );
  }

  #volume(spec: VolumeSpec): docker.Volume {
    const key = toVolumeKey(spec);
    const volume = this.#volumes.get(key) ?? this.#newVolume(spec);
    this.#volumes.set(key, volume);
    return volume;
  }

  #newVolume(spec: VolumeSpec): docker.Volume {
    const { directory, ...whole } = spec;
    const name = `${this.#args.prefix}-${toVolumeKey(spec)}`;
    const retain = spec.retain && this.#args.protectData;
    const view = directory === undefined ? undefined : { of: this.#volume(whole), directory };
    return createVolume(name, { labels: listLabels(this.#labels()), retain, view }, { parent: this });
  }

  #programs(spec: ServiceSpec): ProgramVolumes {
    const known = this.#programVolumes.get(spec.name);
    if (known !== undefined) return known;
    const made = createProgramVolumes(`${this.#args.prefix}-${spec.name}`, {
      image: this.#image(spec.image),
      labels: listLabels(this.#labels()),
      options: { parent: this },
    });
    this.#programVolumes.set(spec.name, made);
    return made;
  }

  #labels(): Readonly<Record<string, string>> {
    return { [`${labelPrefix}.stack`]: this.#args.prefix };
  }
}
