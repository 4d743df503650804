import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import { healthTimes, type HealthSpec } from "../services/probes.ts";
import {
  listFilesDirectories,
  hasFiles,
  liveFilesDirectory,
  liveSecretsDirectory,
  listLiveFiles,
  listLiveSecrets,
  findPort,
  type ServiceSpec,
} from "../services/service-spec.ts";

type Container = types.input.core.v1.Container;
type Probe = types.input.core.v1.Probe;

export function nameFilesVolume(spec: ServiceSpec): string {
  return `${spec.name}-files`;
}

export function formatLiveFilesVolumeName(spec: ServiceSpec): string {
  return `${spec.name}-live`;
}

export function nameLiveSecretsVolume(spec: ServiceSpec): string {
  return `${spec.name}-secrets`;
}

export function nameEnvironment(spec: ServiceSpec): string {
  return `${spec.name}-environment`;
}

export function nameProgramsVolume(spec: ServiceSpec): string {
  return `${spec.name}-bin`;
}

/** Restrictions on every Gatehouse container (Pod Security Standards, `restricted`). */
export const restrictedSecurityContext: types.input.core.v1.SecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

export function buildContainer(spec: ServiceSpec, image: Input<string>): Container {
  return {
    name: spec.name,
    image,
    ...(spec.arguments === undefined ? {} : { args: [...spec.arguments] }),
    env: [
      ...Object.entries(spec.environment).map(([name, value]) => ({ name, value })),
      ...Object.keys(spec.secretEnvironment ?? {}).map((name) => ({
        name,
        valueFrom: { secretKeyRef: { name: nameEnvironment(spec), key: name } },
      })),
    ],
    ports: spec.ports.map(({ name, number }) => ({ name, containerPort: number, protocol: "TCP" })),
    securityContext: { ...restrictedSecurityContext, runAsUser: spec.user.uid, runAsGroup: spec.user.gid },
    resources: {
      limits: { cpu: String(spec.limits.cpus), memory: `${spec.limits.memoryMebibytes}Mi` },
      requests: { cpu: String(spec.limits.cpus / 4), memory: `${Math.ceil(spec.limits.memoryMebibytes / 2)}Mi` },
    },
    volumeMounts: [
      ...spec.volumes.map(({ name, directory, path, readOnly }) => ({
        name,
        mountPath: path,
        ...(directory === undefined ? {} : { subPath: directory }),
        readOnly,
      })),
      ...(spec.programs === undefined ? [] : [{ name: nameProgramsVolume(spec), mountPath: spec.programs }]),
      ...(hasFiles(spec)
        ? listFilesDirectories(spec).map((mountPath) => ({ name: nameFilesVolume(spec), mountPath, readOnly: true }))
        : []),
      ...(listLiveFiles(spec).length === 0
        ? []
        : [{ name: formatLiveFilesVolumeName(spec), mountPath: liveFilesDirectory, readOnly: true }]),
      ...(listLiveSecrets(spec).length === 0
        ? []
        : [{ name: nameLiveSecretsVolume(spec), mountPath: liveSecretsDirectory, readOnly: true }]),
      { name: "tmp", mountPath: "/tmp", subPath: spec.name },
    ],
    ...(spec.health === undefined ? {} : buildProbes(spec, spec.health)),
  };
}

function buildProbes(
  spec: ServiceSpec,
  health: HealthSpec,
): Pick<Container, "startupProbe" | "readinessProbe" | "livenessProbe"> {
  if (health.kind === "socket" || health.kind === "command") return {};
  const { number } = findPort(spec, health.port);
  const { timeout: timeoutSeconds, startingEvery, connection } = healthTimes;
  const buildProbe = (path: "startupPath" | "readyPath" | "livePath"): Probe =>
    health.kind === "http"
      ? { httpGet: { path: health[path], port: number }, timeoutSeconds }
      : { tcpSocket: { port: number }, timeoutSeconds };
  const probe = (path: "startupPath" | "readyPath" | "livePath", every: number, failures: number): Probe => ({
    ...buildProbe(path),
    periodSeconds: every,
    failureThreshold: failures,
  });
  return {
    startupProbe: probe("startupPath", startingEvery, Math.ceil(health.startWithinSeconds / startingEvery)),
    readinessProbe: probe("readyPath", connection.ready.every, connection.ready.failures),
    livenessProbe: probe("livePath", connection.live.every, connection.live.failures),
  };
}
