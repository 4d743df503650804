import type { types } from "@pulumi/kubernetes";
import type { Input } from "@pulumi/pulumi";
import { healthTimes, type HealthSpec } from "../services/probes.ts";
import {
  listFilesDirectories,
  hasFiles,
  listLiveDeliveries,
  findPort,
  type ServiceSpec,
} from "../services/service-spec.ts";

type Container = types.input.core.v1.Container;
type Probe = types.input.core.v1.Probe;

/** Names a service's own volume or Secret. */
export function nameOwn(
  { name }: ServiceSpec,
  kind: "files" | "live" | "secrets" | "environment" | "placed" | "bin",
): string {
  return `${name}-${kind}`;
}

/** Builds the restrictions on every Gatehouse container (Pod Security Standards, `restricted`). */
export function restrict({ uid, gid }: ServiceSpec["user"]): types.input.core.v1.SecurityContext {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    runAsUser: uid,
    runAsGroup: gid,
  };
}

/** Resources of an init container that copies a few small files. */
export const copierResources: types.input.core.v1.ResourceRequirements = {
  limits: { cpu: "0.5", memory: "128Mi" },
  requests: { cpu: "0.05", memory: "64Mi" },
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
        valueFrom: { secretKeyRef: { name: nameOwn(spec, "environment"), key: name } },
      })),
    ],
    ports: spec.ports.map(({ name, number }) => ({ name, containerPort: number, protocol: "TCP" })),
    securityContext: restrict(spec.user),
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
      ...(spec.programs === undefined ? [] : [{ name: nameOwn(spec, "bin"), mountPath: spec.programs }]),
      ...(hasFiles(spec)
        ? listFilesDirectories(spec).map((mountPath) => ({ name: nameOwn(spec, "files"), mountPath, readOnly: true }))
        : []),
      ...listLiveDeliveries(spec).map(({ kind, directory }) => ({
        name: nameOwn(spec, kind),
        mountPath: directory,
        readOnly: true,
      })),
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
