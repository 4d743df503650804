import { createHmac } from "node:crypto";
import type { types } from "@pulumi/kubernetes";
import { all, unsecret, type Output } from "@pulumi/pulumi";
import { findPort, serviceUser, type ServiceSpec } from "../services/service-spec.ts";
import type { KubernetesOptions } from "./kubernetes-options.ts";
import type { Labels } from "./metadata.ts";

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
export function spreadPods(labels: Labels): readonly types.input.core.v1.TopologySpreadConstraint[] {
  return ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: { ...labels } },
    // Counts pods of one revision only: a rollout soon removes the old ones.
    matchLabelKeys: ["pod-template-hash"],
  }));
}
