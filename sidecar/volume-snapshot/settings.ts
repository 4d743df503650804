import { z } from "zod";
import { filePath, httpUrl, milliseconds, positiveInteger } from "#daemon/settings/types.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";

const name = z.string().min(1).meta({ expected: "a name" });

/** All settings of `gatehouse volume-snapshot`. */
export const volumeSnapshotSettings = defineSettings("volume-snapshot", [], {
  claim: name.describe("PersistentVolumeClaim that a snapshot is taken of"),
  className: name.optional().describe("VolumeSnapshotClass; default: the cluster's"),
  keep: positiveInteger.max(1_000).default(7).describe("Snapshots of the claim that are kept, the newest ones"),
  kubernetes: section({
    apiUrl: httpUrl.default("https://kubernetes.default.svc").describe("Kubernetes API server"),
    namespace: name.optional().describe("Namespace of the claim; default: the service account's"),
    serviceAccountDirectory: filePath
      .default("/var/run/secrets/kubernetes.io/serviceaccount")
      .describe("Directory of the service account's token, namespace and ca.crt"),
    timeoutMs: milliseconds.default(30_000).describe("How long one answer of the API server may take"),
  }),
});

export type VolumeSnapshotSettings = z.output<typeof volumeSnapshotSettings.schema>;
