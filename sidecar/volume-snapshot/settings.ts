import { z } from "zod";
import { positiveInteger } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defineCommandSettings } from "#daemon/settings/settings.ts";

const name = z.string().min(1).meta({ expected: "a name" });

export const volumeSnapshotSettings = defineCommandSettings("volume-snapshot", ["keep"], {
  claim: name.describe("PersistentVolumeClaim to snapshot"),
  className: name.optional().describe("VolumeSnapshotClass; default: the cluster's"),
  keep: positiveInteger
    .max(1_000)
    .default(7)
    .describe("Number of snapshots of the claim to retain; the oldest are deleted first"),
  kubernetes: section({
    /** The API server, as pods reach it. */
    apiUrl: fixed("https://kubernetes.default.svc"),
    namespace: name.optional().describe("Namespace of the claim; default: the service account's"),
    /** Directory with the service account's token, namespace and ca.crt. */
    serviceAccountDirectory: fixed("/var/run/secrets/kubernetes.io/serviceaccount"),
    timeoutMs: fixed(30_000),
  }),
});

export type VolumeSnapshotSettings = z.output<typeof volumeSnapshotSettings.schema>;
