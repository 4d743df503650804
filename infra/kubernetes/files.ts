import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import {
  filesDirectory,
  hasFiles,
  listLiveDeliveries,
  type MountedFile,
  type ServiceSpec,
} from "../services/service-spec.ts";
import { namePlacedFile } from "../services/node/node-conf.ts";
import { copierResources, nameOf, buildSecurityContext } from "./pod.ts";
import { buildMetadata } from "./metadata.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

type Container = types.input.core.v1.Container;
type Volume = types.input.core.v1.Volume;

const incomingDirectory = "/run/gatehouse/incoming";

/**
 * Lists a service's Secrets by resource name suffix: its files (secret or not), its hot-reloaded files, the secrets whose change triggers a
 * hot restart, its environment variables, and the files installed in its workspace. The pod template contains no checksum of hot-reloaded
 * files: a change to them rolls nothing, and the kubelet updates them in the running pods within about a minute and a half.
 */
export function listSecrets(
  spec: ServiceSpec,
  options: KubernetesOptions,
): readonly (readonly [string, types.input.core.v1.Secret])[] {
  const environment = Object.entries(spec.secretEnvironment ?? {}).map(([name, content]) => ({ name, content }));
  const placed = listPlacedFiles(spec).map(({ content }, index) => ({ name: namePlacedFile(index), content }));
  const all = [
    { kind: "files", files: spec.files },
    ...listLiveDeliveries(spec),
    { kind: "environment", files: environment },
    { kind: "placed", files: placed },
  ] as const;
  return all
    .filter(({ files }) => files.length > 0)
    .map(({ kind, files }) => {
      const stringData = Object.fromEntries(files.map(({ name, content }) => [name, content]));
      return [kind, { metadata: buildMetadata(options, nameOf(spec, kind), spec.name), type: "Opaque", stringData }];
    });
}

export function listPlacedFiles({ seed }: ServiceSpec): readonly MountedFile[] {
  return seed?.locations?.entryPoint?.files ?? [];
}

/** Builds the volumes for files: the Secret, delivered as root's, and an in-memory volume for the service's own copies. */
export function buildFilesVolumes(spec: ServiceSpec): readonly Volume[] {
  return [...buildInstalledVolumes(spec), ...buildLiveVolumes(spec)];
}

/** Builds the volumes for live files, each mounted whole and unmodified: a copy, or a subpath mount, would never be updated. */
function buildLiveVolumes(spec: ServiceSpec): readonly Volume[] {
  return listLiveDeliveries(spec)
    .map(({ kind }) => nameOf(spec, kind))
    .map((name) => ({ name, secret: { secretName: name, defaultMode: 0o440 } }));
}

function buildInstalledVolumes(spec: ServiceSpec): readonly Volume[] {
  if (!hasFiles(spec)) return [];
  const { existingFiles } = spec;
  const source =
    existingFiles?.kind === "secret"
      ? { secretName: existingFiles.name, items: existingFiles.names.map((name) => ({ key: name, path: name })) }
      : { secretName: nameOf(spec, "files") };
  return [
    { name: `${nameOf(spec, "files")}-incoming`, secret: { ...source, defaultMode: 0o440 } },
    { name: nameOf(spec, "files"), emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
  ];
}

/** Builds the init container that makes a service the owner of its files, with mode 0400: Kubernetes delivers a Secret as root's group-readable files. */
export function buildFilesInstaller(spec: ServiceSpec, image: Input<string>): readonly Container[] {
  if (!hasFiles(spec)) return [];
  return [
    {
      name: `${spec.name}-install-files`,
      image,
      command: ["node", "/app/infra/images/install-files.ts", "copy", incomingDirectory, filesDirectory],
      securityContext: buildSecurityContext(spec.user),
      resources: copierResources,
      volumeMounts: [
        { name: `${nameOf(spec, "files")}-incoming`, mountPath: incomingDirectory, readOnly: true },
        { name: nameOf(spec, "files"), mountPath: filesDirectory },
      ],
    },
  ];
}
