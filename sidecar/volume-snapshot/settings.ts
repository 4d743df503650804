import { z } from "zod";
import { filePath, httpUrl, milliseconds, positiveInteger } from "#daemon/settings/types.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";

const name = z.string().min(1).meta({ expected: "a name" });

/** All settings of `gatehouse volume-snapshot`. */
export const volumeSnapshotSettings = defineSettings("volume-snapshot", [], {
  claim: name.describe("PersistentVolumeClaim to snapshot"),
  className: name.optional().describe("VolumeSnapshotClass; default: the cluster's"),
  keep: positiveInteger
    .max(1_000)
    .default(7)
    .describe("Number of snapshots of the claim to retain; the oldest are deleted first"),
  kubernetes: section({
    apiUrl: httpUrl.default("https://kubernetes.default.svc").describe("Kubernetes API server"),
    namespace: name.optional().describe("Namespace of the claim; default: the service account's"),
    serviceAccountDirectory: filePath
      .default("/var/run/secrets/kubernetes.io/serviceaccount")
      .describe("Directory with the service account's token, namespace and ca.crt"),
    timeoutMs: milliseconds.default(30_000).describe("Timeout for one API server request"),
  }),
});

export type VolumeSnapshotSettings = z.output<typeof volumeSnapshotSettings.schema>;
