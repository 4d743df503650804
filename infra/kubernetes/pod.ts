import { createHmac } from "node:crypto";
import type { types } from "@pulumi/kubernetes";
import { all, unsecret, type Output, type Input } from "@pulumi/pulumi";
import {
  findPort,
  serviceUser,
  type ServiceSpec,
  listFilesDirectories,
  hasFiles,
  listLiveDeliveries,
} from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import type { Labels } from "./metadata.ts";
import { healthTimes, type HealthSpec } from "../services/probes.ts";

export const podSecurity: types.input.core.v1.PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: serviceUser.uid,
  runAsGroup: serviceUser.gid,
  fsGroup: serviceUser.gid,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
};

export const temporaryVolume: types.input.core.v1.Volume = { name: "tmp", emptyDir: { sizeLimit: "128Mi" } };

/**
 * Computes a checksum of a pod's files for the pod template, because a change to mounted data does not restart a pod. The checksum is
 * keyed, so that users who may read pods but not Secrets can't use it to guess a secret.
 */
export function computeFilesChecksum(
  specs: readonly ServiceSpec[],
  { revisionKey }: KubernetesOptions,
): Output<string> {
  const files = specs.flatMap((spec) => [
    ...spec.files,
    ...Object.entries(spec.secretEnvironment ?? {}).map(([name, content]) => ({ name, content })),
    ...(spec.seed?.locations?.entryPoint?.files ?? []).map(({ path, content }) => ({ name: path, content })),
  ]);
  const contents = all([revisionKey, ...files.map(({ content }) => content)]);
  const checksum = contents.apply(([key = "", ...texts]) => {
    const hash = createHmac("sha256", key);
    files.forEach(({ name }, index) => hash.update(JSON.stringify([name, texts[index]])));
    return hash.digest("hex");
  });
  return unsecret(checksum);
}

/** Builds the part of a pod's specification that lists image pull secrets; empty if the images are public. */
export function buildPullSecrets({
  imagePullSecrets,
}: KubernetesOptions): Pick<types.input.core.v1.PodSpec, "imagePullSecrets"> {
  if (imagePullSecrets === undefined || imagePullSecrets.length === 0) return {};
  return { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) };
}

/**
 * Builds the annotations with which a Prometheus without an operator finds a pod. They specify one port per pod, and
 * therefore only one of its services.
 */
export function scrapeAnnotations(specs: readonly ServiceSpec[], { observability }: KubernetesOptions): Labels {
  const scraped = specs.find((spec) => spec.metrics !== undefined);
  if (observability?.existing?.by !== "annotations" || scraped?.metrics === undefined) return {};
  return {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": String(findPort(scraped, scraped.metrics.port).number),
    "prometheus.io/path": "/metrics",
  };
}

/** Spreads a service's pods across the cluster's zones and machines, where there are several and they are labelled. */
export function buildTopologySpread(labels: Labels): readonly types.input.core.v1.TopologySpreadConstraint[] {
  return ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: { ...labels } },
    // Counts pods of one revision only: a rollout soon removes the old ones.
    matchLabelKeys: ["pod-template-hash"],
  }));
}

type Container = types.input.core.v1.Container;
type Probe = types.input.core.v1.Probe;

/** Names a service's own volume or Secret. */
export function nameOf(
  { name }: ServiceSpec,
  kind: "files" | "live" | "secrets" | "environment" | "placed" | "bin",
): string {
  return `${name}-${kind}`;
}

/** Builds the restrictions on every Gatehouse container (Pod Security Standards, `restricted`). */
export function buildSecurityContext({ uid, gid }: ServiceSpec["user"]): types.input.core.v1.SecurityContext {
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
        valueFrom: { secretKeyRef: { name: nameOf(spec, "environment"), key: name } },
      })),
    ],
    ports: spec.ports.map(({ name, number }) => ({ name, containerPort: number, protocol: "TCP" })),
    securityContext: buildSecurityContext(spec.user),
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
      ...(spec.programs === undefined ? [] : [{ name: nameOf(spec, "bin"), mountPath: spec.programs }]),
      ...(hasFiles(spec)
        ? listFilesDirectories(spec).map((mountPath) => ({ name: nameOf(spec, "files"), mountPath, readOnly: true }))
        : []),
      ...listLiveDeliveries(spec).map(({ kind, directory }) => ({
        name: nameOf(spec, kind),
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
