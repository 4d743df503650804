import { z } from "zod";
import { removedAuditLog } from "#daemon/audit/audit-log.ts";
import { nodeFamilies } from "#node/families.ts";
import { bytes, filePath, httpUrl, milliseconds, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { defineSettings, section } from "#daemon/settings/settings.ts";

/** The settings of a restore of chain data. */
export const restoreSettings = defineSettings(
  "restore",
  [],
  {
    archive: section({
      url: httpUrl.describe("URL of the snapshot: a tar archive, plain or packed with zstd or gzip"),
      sha256: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/)
        .optional()
        .describe("SHA-256 of the archive as it is downloaded; nothing else is unpacked. Without it, the log warns")
        .meta({ expected: "64 hexadecimal digits" }),
      strip: z
        .int()
        .min(0)
        .max(16)
        .default(0)
        .describe("Leading directories of the archive's paths that are left out")
        .meta({ expected: "a whole number from 0 to 16" }),
      limitBytes: bytes.default(8_796_093_022_208).describe("Largest archive, and largest sum of unpacked files"),
    }),
    dataPath: filePath.describe(
      "The node's data directory; filled where it is empty or absent, otherwise left as it is. A family whose snapshots are a part of it needs the rest there: genesis comes first",
    ),
    family: z
      .enum(nodeFamilies.map(({ name }) => name))
      .optional()
      .describe("Family of the node; default: the one whose programs or configuration file are next to dataPath")
      .meta({ expected: nodeFamilies.map(({ name }) => name).join(" or ") }),
    replace: yesOrNo
      .default(false)
      .describe(
        "Whether the part of the data that the snapshot replaces may hold data, such as those of genesis; they are put aside",
      ),
    stallMs: milliseconds
      .default(60_000)
      .describe("Time without a byte after which a download is resumed where it ended"),
    retryMs: milliseconds.default(5_000).describe("Time between two attempts"),
    attempts: positiveInteger
      .default(20)
      .describe("Attempts in a row without a new byte from which the restore gives up"),
    progressMs: milliseconds.default(10_000).describe("Time between two lines about the progress"),
  },
  { auditLog: removedAuditLog },
);

export type RestoreSettings = z.output<typeof restoreSettings.schema>;
