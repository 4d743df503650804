import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import {
  filesDirectory,
  hasFiles,
  listLiveFiles,
  listLiveSecrets,
  type FileSpec,
  type ServiceSpec,
} from "../services/service-spec.ts";
import { nameFilesVolume, nameLiveFilesVolume, nameLiveSecretsVolume, restricted } from "./container.ts";
import { buildStackLabels } from "./labels.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

type Container = types.input.core.v1.Container;
type Volume = types.input.core.v1.Volume;

const incomingDirectory = "/run/gatehouse/incoming";

/** Builds the Secret with a service's files, secret or not; `undefined` if it has no files. */
export function buildFilesSecret(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.core.v1.Secret | undefined {
  return buildSecret(spec.files, nameFilesVolume(spec), options);
}

/**
 * Builds the Secret with the files that a service reads again as they change; `undefined` if it has no such files. The pod's template has no checksum of
 * it, so that a change rolls nothing: the kubelet brings it into the running pods, within about a minute and a half.
 */
export function buildLiveFilesSecret(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.core.v1.Secret | undefined {
  return buildSecret(listLiveFiles(spec), nameLiveFilesVolume(spec), options);
}

/** Builds the Secret with the secrets whose change hands a service over; `undefined` if it has no such secrets. It reaches running pods as the live files do. */
export function buildLiveSecretsSecret(
  spec: ServiceSpec,
  options: KubernetesOptions,
): types.input.core.v1.Secret | undefined {
  return buildSecret(listLiveSecrets(spec), nameLiveSecretsVolume(spec), options);
}

function buildSecret(
  files: readonly FileSpec[],
  name: string,
  options: KubernetesOptions,
): types.input.core.v1.Secret | undefined {
  if (files.length === 0) return undefined;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: options.namespace, labels: buildStackLabels(options.prefix) },
    type: "Opaque",
    stringData: Object.fromEntries(files.map((file) => [file.name, file.content])),
  };
}

/** Builds the volumes for files: the Secret as root delivers it, and memory for the service's own copies. */
export function buildFilesVolumes(spec: ServiceSpec): readonly Volume[] {
  return [...buildInstalledVolumes(spec), ...buildLiveVolumes(spec)];
}

/** Builds the volumes of live files, each mounted as a whole and unchanged: a copy, or a path within it, would stay as the pod found it. */
function buildLiveVolumes(spec: ServiceSpec): readonly Volume[] {
  const names = [
    ...(listLiveFiles(spec).length === 0 ? [] : [nameLiveFilesVolume(spec)]),
    ...(listLiveSecrets(spec).length === 0 ? [] : [nameLiveSecretsVolume(spec)]),
  ];
  return names.map((name) => ({ name, secret: { secretName: name, defaultMode: 0o440 } }));
}

function buildInstalledVolumes(spec: ServiceSpec): readonly Volume[] {
  if (!hasFiles(spec)) return [];
  const { foreignFiles } = spec;
  const source =
    foreignFiles?.kind === "secret"
      ? { secretName: foreignFiles.name, items: foreignFiles.names.map((name) => ({ key: name, path: name })) }
      : { secretName: nameFilesVolume(spec) };
  return [
    { name: `${nameFilesVolume(spec)}-incoming`, secret: { ...source, defaultMode: 0o440 } },
    { name: nameFilesVolume(spec), emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
  ];
}

/** Builds the init container that makes a service the owner of its files, mode 0400: Kubernetes delivers a Secret as files of root that a group may read. */
export function buildFilesInstaller(spec: ServiceSpec, image: Input<string>): readonly Container[] {
  if (!hasFiles(spec)) return [];
  return [
    {
      name: `${spec.name}-install-files`,
      image,
      command: ["node", "/app/infra/images/install-files.ts", "copy", incomingDirectory, filesDirectory],
      securityContext: { ...restricted, runAsUser: spec.user.uid, runAsGroup: spec.user.gid },
      resources: { limits: { cpu: "0.5", memory: "128Mi" }, requests: { cpu: "0.05", memory: "64Mi" } },
      volumeMounts: [
        { name: `${nameFilesVolume(spec)}-incoming`, mountPath: incomingDirectory, readOnly: true },
        { name: nameFilesVolume(spec), mountPath: filesDirectory },
      ],
    },
  ];
}
