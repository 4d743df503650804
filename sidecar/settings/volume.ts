import { z } from "zod";
import { positiveInteger } from "#daemon/settings/types.ts";
import { section, fixed } from "#daemon/settings/section.ts";

/** Growth of the node's volume on Kubernetes, through its PersistentVolumeClaim. Without a claim, the volume does not grow. */
export const volumeSection = section({
  claim: z
    .string()
    .min(1)
    .optional()
    .describe("PersistentVolumeClaim of the node's data, which grows as it fills; default: no growth")
    .meta({ expected: "a claim's name" }),
  /** Free ratio of the volume below which it grows. */
  growBelowFreeRatio: fixed(0.15),
  stepGibibytes: positiveInteger.max(65_536).default(100).describe("Growth step in GiB"),
  ceilingGibibytes: positiveInteger.max(1_048_576).default(2_000).describe("Max volume size in GiB"),
  /** Min time between resizes; some providers allow only one in six hours. */
  pauseMs: fixed(21_600_000),
  intervalMs: fixed(60_000),
});
