import { createHmac } from "node:crypto";
import type { types } from "@pulumi/kubernetes";
import { all, unsecret, type Output } from "@pulumi/pulumi";
import { findPort, serviceUser, type ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import type { Labels } from "./labels.ts";

/** Security context of all pods: user, groups and seccomp. */
export const podSecurity: types.input.core.v1.PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: serviceUser.uid,
  runAsGroup: serviceUser.gid,
  fsGroup: serviceUser.gid,
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
};

/** Scratch space of a pod's containers. */
export const temporaryVolume: types.input.core.v1.Volume = { name: "tmp", emptyDir: { sizeLimit: "128Mi" } };

/**
 * Computes a checksum of a pod's files for its template, because mounting changed data does not restart a pod by itself. Keyed, so that it is of no use
 * for guessing a secret to whoever may read pods but not Secrets.
 */
export function computeFilesChecksum(
  specs: readonly ServiceSpec[],
  { revisionKey }: KubernetesOptions,
): Output<string> {
  const files = specs.flatMap((spec) => [
    ...spec.files,
    ...Object.entries(spec.secretEnvironment ?? {}).map(([name, content]) => ({ name, content })),
    ...(spec.seed?.places?.entryPoint?.files ?? []).map(({ path, content }) => ({ name: path, content })),
  ]);
  const contents = all([revisionKey, ...files.map(({ content }) => content)]);
  const checksum = contents.apply(([key = "", ...texts]) => {
    const hash = createHmac("sha256", key);
    files.forEach(({ name }, index) => hash.update(JSON.stringify([name, texts[index]])));
    return hash.digest("hex");
  });
  return unsecret(checksum);
}

/** Builds what of a pod's specification has the cluster pull its images; nothing if they are public. */
export function buildPullSecrets({
  imagePullSecrets,
}: KubernetesOptions): Pick<types.input.core.v1.PodSpec, "imagePullSecrets"> {
  if (imagePullSecrets === undefined || imagePullSecrets.length === 0) return {};
  return { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) };
}

/** Builds the annotations by which a Prometheus without an operator finds a pod; they name one port of a pod, so one service of it. */
export function scrapeAnnotations(specs: readonly ServiceSpec[], { observability }: KubernetesOptions): Labels {
  const scraped = specs.find((spec) => spec.metrics !== undefined);
  if (observability?.existing?.by !== "annotations" || scraped?.metrics === undefined) return {};
  return {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": String(findPort(scraped, scraped.metrics.port).number),
    "prometheus.io/path": "/metrics",
  };
}

/** Spreads a service's pods over the cluster's zones and machines, as far as there are several and their labels say so. */
export function spreadPods(labels: Labels): readonly types.input.core.v1.TopologySpreadConstraint[] {
  return ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: { ...labels } },
    // Of one revision: those that a rollout replaces are gone soon.
    matchLabelKeys: ["pod-template-hash"],
  }));
}
