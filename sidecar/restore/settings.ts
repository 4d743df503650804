import { z } from "zod";
import { nodeFamilies } from "#node/families.ts";
import { filePath, httpUrl, yesOrNo } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defineCommandSettings } from "#daemon/settings/settings.ts";

export const restoreSettings = defineCommandSettings("restore", ["archive.sha256"], {
  archive: section({
    url: httpUrl.describe("Snapshot URL: a tar archive, uncompressed or compressed with zstd or gzip"),
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/)
      .optional()
      .describe("SHA-256 of the downloaded archive; any other archive is rejected. If unset, a warning is logged")
      .meta({ expected: "64 hexadecimal digits" }),
    strip: z
      .int()
      .min(0)
      .max(16)
      .default(0)
      .describe("Leading path components to strip from the archive")
      .meta({ expected: "a whole number from 0 to 16" }),
    /** Max size of the archive, and of all unpacked files. */
    limitBytes: fixed(70_368_744_177_664),
  }),
  dataPath: filePath.describe(
    "Data directory of the node; filled if empty or absent, otherwise left unchanged. A family whose snapshots contain only part of the data needs the rest there, so run genesis first",
  ),
  family: z
    .enum(nodeFamilies.map(({ name }) => name))
    .optional()
    .describe("Node family; default: detected from the binaries or configuration file next to dataPath")
    .meta({ expected: nodeFamilies.map(({ name }) => name).join(" or ") }),
  replace: yesOrNo
    .default(false)
    .describe("Whether the target may already contain data, such as data from genesis; it is moved aside"),
  /** Time without data after which a download is resumed. */
  stallMs: fixed(60_000),
  retryMs: fixed(5_000),
  /** Max consecutive attempts without new data before the restore fails. */
  attempts: fixed(20),
  progressMs: fixed(10_000),
});

export type RestoreSettings = z.output<typeof restoreSettings.schema>;
