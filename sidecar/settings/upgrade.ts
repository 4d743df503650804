import { z } from "zod";
import { filePath, httpUrl, milliseconds, positiveInteger, yesOrNo } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** Upgrades of the node, restores of its data, and the release list. */
export const upgradeSection = section({
  snapshot: z
    .enum(["auto", "reflink", "copy", "rsync"])
    .default("auto")
    .describe(
      "How the stopped node's data are copied before an upgrade; auto: cloned where the file system can, else in full; reflink: cloned or not at all; " +
        "copy: in full; rsync: in full while the node still runs, and once it is stopped, what has changed since (needs the program rsync)",
    )
    .meta({ expected: "auto, reflink, copy or rsync" }),
  keepSnapshot: yesOrNo
    .default(false)
    .describe(
      "Whether the copy of the data stays once the new version is proved; it takes up room until it is removed",
    ),
  copyTimeoutMs: milliseconds
    .default(3_600_000)
    .describe("How long the copy of the data may take, while the node stands still, before the upgrade goes back"),
  preCopyTimeoutMs: z
    .int()
    .min(1)
    .max(604_800_000)
    .default(86_400_000)
    .describe(
      "How long the copy of the data that is made while the node runs may take (upgrade.snapshot is rsync) before the upgrade is given up",
    )
    .meta({ expected: "milliseconds, a whole number from 1 to 604800000" }),
  lateMs: milliseconds
    .default(900_000)
    .describe(
      "How long after its data were copied by rsync the node may still be stopped before the upgrade is given up",
    ),
  releasesPath: filePath
    .optional()
    .describe(
      "JSON5 file with a list of releases, [{version, minVersionAt: height, commit, note}], or a fork schedule in the form of VERSION: whether the running version is new enough for the chain is judged by it, and commits are " +
        "known as releases; read again as it changes",
    ),
  releasesUrl: httpUrl
    .optional()
    .describe(
      "URL of such a list as JSON, fetched every hour besides that file; the last good one is kept in the state directory",
    ),
  epochZeroMs: z
    .int()
    .min(0)
    .optional()
    .describe(
      "Time at which the chain's epoch 0 began, by which forks have times; default: that of the family's main network",
    )
    .meta({ expected: "milliseconds since 1970" }),
  warnBeforeSeconds: positiveInteger
    .max(31_536_000)
    .default(604_800)
    .describe("How long before a height or an epoch that needs a newer version than the running one a warning begins")
    .meta({ expected: "seconds, a whole number from 1 to 31536000" }),
});
