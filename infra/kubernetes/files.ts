import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import { filesDirectory, hasFiles, type ServiceSpec } from "../services/service-spec.ts";
import { filesVolume, restricted } from "./container.ts";
import { stackLabels } from "./labels.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";

type Container = types.input.core.v1.Container;
type Volume = types.input.core.v1.Volume;

const incomingDirectory = "/run/gatehouse/incoming";

/** The Secret that holds a service's files, secret or not; `undefined` when it has none. */
export function filesSecret(spec: ServiceSpec, options: KubernetesOptions): types.input.core.v1.Secret | undefined {
  if (spec.files.length === 0) return undefined;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: filesVolume(spec), namespace: options.namespace, labels: stackLabels(options.prefix) },
    type: "Opaque",
    stringData: Object.fromEntries(spec.files.map(({ name, content }) => [name, content])),
  };
}

/** The volumes that files need: the Secret as root delivers it, and memory for the service's own copies. */
export function filesVolumes(spec: ServiceSpec): readonly Volume[] {
  if (!hasFiles(spec)) return [];
  const { foreignFiles } = spec;
  const source =
    foreignFiles?.kind === "secret"
      ? { secretName: foreignFiles.name, items: foreignFiles.names.map((name) => ({ key: name, path: name })) }
      : { secretName: filesVolume(spec) };
  return [
    { name: `${filesVolume(spec)}-incoming`, secret: { ...source, defaultMode: 0o440 } },
    { name: filesVolume(spec), emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
  ];
}

/**
 * The init container that makes a service the owner of its files, mode 0400: Kubernetes delivers a Secret as files of root that a
 * group may read.
 */
export function filesInstaller(spec: ServiceSpec, image: Input<string>): readonly Container[] {
  if (!hasFiles(spec)) return [];
  return [
    {
      name: `${spec.name}-install-files`,
      image,
      command: ["node", "/app/infra/images/install-files.ts", "copy", incomingDirectory, filesDirectory],
      securityContext: { ...restricted, runAsUser: spec.user.uid, runAsGroup: spec.user.gid },
      resources: { limits: { cpu: "0.5", memory: "128Mi" }, requests: { cpu: "0.05", memory: "64Mi" } },
      volumeMounts: [
        { name: `${filesVolume(spec)}-incoming`, mountPath: incomingDirectory, readOnly: true },
        { name: filesVolume(spec), mountPath: filesDirectory },
      ],
    },
  ];
}
