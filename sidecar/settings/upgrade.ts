import { z } from "zod";
import { filePath, httpUrl, milliseconds, yesOrNo } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";

export const upgradeSection = section({
  keepSnapshot: yesOrNo
    .default(false)
    .describe("Whether to retain the data copy after the new version is verified; it uses disk space until removed"),
  copyTimeoutMs: milliseconds
    .default(3_600_000)
    .describe("Timeout for copying the data while the node is stopped; the upgrade is then rolled back"),
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
  /** How long before a height or epoch that requires a newer version the warning starts. */
  warnBeforeSeconds: fixed(604_800),
});
