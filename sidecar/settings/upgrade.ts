import { z } from "zod";
import { filePath, httpUrl, milliseconds, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** Node upgrades, data restores, and the release list. */
export const upgradeSection = section({
  snapshot: z
    .enum(["auto", "reflink", "copy", "rsync"])
    .default("auto")
    .describe(
      "How the stopped node's data is copied before an upgrade; auto: reflink if the file system supports it, else a full copy; reflink: reflink or fail; copy: full copy; rsync: full copy while the node runs, then the changes once it is stopped (requires rsync)",
    )
    .meta({ expected: "auto, reflink, copy or rsync" }),
  keepSnapshot: yesOrNo
    .default(false)
    .describe("Whether to retain the data copy after the new version is verified; it uses disk space until removed"),
  copyTimeoutMs: milliseconds
    .default(3_600_000)
    .describe("Timeout for copying the data while the node is stopped; the upgrade is then rolled back"),
  preCopyTimeoutMs: z
    .int()
    .min(1)
    .max(604_800_000)
    .default(86_400_000)
    .describe(
      "Timeout for copying the data while the node runs (with upgrade.snapshot rsync); the upgrade is then aborted",
    )
    .meta({ expected: "milliseconds, a whole number from 1 to 604800000" }),
  lateMs: milliseconds
    .default(900_000)
    .describe("Max time from the rsync copy of the data to the node's stop; the upgrade is then aborted"),
  releasesPath: filePath
    .optional()
    .describe(
      "JSON5 file with a list of releases, [{version, minVersionAt: height, commit, note}], or a fork schedule in VERSION format; used to check whether the running version is recent enough for the chain, and to recognize release commits. Hot-reloaded",
    ),
  releasesUrl: httpUrl
    .optional()
    .describe(
      "URL of such a list as JSON, fetched hourly in addition to the file; the last valid list is cached in the state directory",
    ),
  epochZeroMs: z
    .int()
    .min(0)
    .optional()
    .describe(
      "Start time of the chain's epoch 0, used to compute fork times; default: that of the family's main network",
    )
    .meta({ expected: "milliseconds since 1970" }),
  warnBeforeSeconds: positiveInteger
    .max(31_536_000)
    .default(604_800)
    .describe("How long before a height or epoch that requires a newer version the warning starts")
    .meta({ expected: "seconds, a whole number from 1 to 31536000" }),
});
