import { z } from "zod";
import { cronExpression } from "#daemon/settings/cron.ts";

const restore = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe("Address of the tar archive, plain or packed with zstd or gzip"),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/)
    .describe("SHA-256 of the archive, in hexadecimal"),
  strip: z.int().min(0).max(16).default(0).describe("How many leading folders of the archive's paths are left out"),
});

const volumeGrowth = z.strictObject({
  growBelowFreeRatio: z
    .number()
    .min(0.01)
    .max(0.9)
    .optional()
    .describe("The volume grows when less than this part of it is free; default is the sidecar's"),
  stepGibibytes: z.int().min(1).optional().describe("By how many GiB it grows; default is the sidecar's"),
  ceilingGibibytes: z.int().min(1).describe("Size in GiB beyond which it does not grow"),
});

const volumeSnapshots = z.strictObject({
  schedule: z
    .string()
    .regex(/^(@(hourly|daily|weekly|monthly)|\S+( \S+){4})$/)
    .pipe(cronExpression)
    .describe('When a snapshot is taken: a cron expression in UTC, such as "0 3 * * *"'),
  keep: z.int().min(1).max(1_000).default(7).describe("How many snapshots are kept"),
  className: z.string().min(1).optional().describe("VolumeSnapshotClass; default is the cluster's"),
});

/** Keys for the node's volume. */
export const volumeKeys = {
  nodeVolumeGibibytes: z
    .int()
    .min(1)
    .max(1_048_576)
    .default(500)
    .meta({ expected: "the size of the node's volume in GiB, a whole number from 1 to 1048576" })
    .describe("Kubernetes: size of the node's volume in GiB at the beginning"),
  volumeGrowth: volumeGrowth
    .optional()
    .meta({ expected: "{ceilingGibibytes, stepGibibytes, growBelowFreeRatio}; see infra/README.md" })
    .describe(
      "Kubernetes: how the node's volume grows when it fills: {ceilingGibibytes, stepGibibytes, growBelowFreeRatio}",
    ),
  volumeSnapshots: volumeSnapshots
    .optional()
    .meta({
      expected: '{schedule, keep, className}, with a cron expression in UTC such as "0 3 * * *" and how many are kept',
    })
    .describe("Kubernetes: VolumeSnapshots of the node's volume on a schedule: {schedule, keep, className}"),
  restore: restore
    .optional()
    .meta({ expected: "{url, sha256, strip}: an http(s) URL of a tar archive and its SHA-256 in hexadecimal" })
    .describe("Snapshot that chain data are restored from before the first start: {url, sha256, strip}"),
};
