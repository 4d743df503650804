import { z } from "zod";
import { cronExpression } from "#daemon/settings/cron.ts";

const restore = z.strictObject({
  url: z.url({ protocol: /^https?$/ }).describe("URL of the tar archive, uncompressed or compressed with zstd or gzip"),
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/)
    .describe("SHA-256 of the archive, in hexadecimal"),
  strip: z.int().min(0).max(16).default(0).describe("Leading path components to strip from the archive"),
});

const volumeGrowth = z.strictObject({
  stepGibibytes: z.int().min(1).optional().describe("Growth step in GiB; default: the sidecar's"),
  ceilingGibibytes: z.int().min(1).describe("Max volume size in GiB"),
});

const volumeSnapshots = z.strictObject({
  schedule: z
    .string()
    .regex(/^(@(hourly|daily|weekly|monthly)|\S+( \S+){4})$/)
    .pipe(cronExpression)
    .describe('Snapshot schedule: a cron expression in UTC, such as "0 3 * * *"'),
  keep: z.int().min(1).max(1_000).default(7).describe("Number of snapshots to retain"),
  className: z.string().min(1).optional().describe("VolumeSnapshotClass; default: the cluster's"),
});

export const volumeKeys = {
  nodeVolumeGibibytes: z
    .int()
    .min(1)
    .max(1_048_576)
    .default(500)
    .meta({ expected: "the size of the node's volume in GiB, a whole number from 1 to 1048576" })
    .describe("Kubernetes: initial size of the node's volume, in GiB"),
  volumeGrowth: volumeGrowth
    .optional()
    .meta({ expected: "{ceilingGibibytes, stepGibibytes}; see infra/README.md" })
    .describe("Kubernetes: growth of the node's volume as it fills: {ceilingGibibytes, stepGibibytes}"),
  volumeSnapshots: volumeSnapshots
    .optional()
    .meta({
      expected:
        '{schedule, keep, className}, with a cron expression in UTC such as "0 3 * * *" and the number to retain',
    })
    .describe("Kubernetes: scheduled VolumeSnapshots of the node's volume: {schedule, keep, className}"),
  restore: restore
    .optional()
    .meta({ expected: "{url, sha256, strip}: an http(s) URL of a tar archive and its SHA-256 in hexadecimal" })
    .describe("Snapshot to restore chain data from before the first start: {url, sha256, strip}"),
};
