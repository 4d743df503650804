import { z } from "zod";
import { milliseconds, positiveInteger } from "#daemon/settings/types.ts";
import { section } from "#daemon/settings/settings.ts";

/** Growth of the node's volume on Kubernetes, through its claim. Without a claim, the volume does not grow. */
export const volumeSection = section({
  claim: z
    .string()
    .min(1)
    .optional()
    .describe("PersistentVolumeClaim of the node's data, which grows as it fills; default: no growth")
    .meta({ expected: "a claim's name" }),
  growBelowFreeRatio: z
    .number()
    .min(0.01)
    .max(0.9)
    .default(0.15)
    .describe("Free ratio of the volume below which it grows")
    .meta({ expected: "a number from 0.01 to 0.9" }),
  stepGibibytes: positiveInteger.max(65_536).default(100).describe("Growth step in GiB"),
  ceilingGibibytes: positiveInteger.max(1_048_576).default(2_000).describe("Max volume size in GiB"),
  pauseMs: milliseconds
    .default(21_600_000)
    .describe("Min time between resizes; some providers allow only one in six hours"),
  intervalMs: milliseconds.default(60_000).describe("Interval between volume checks"),
});
