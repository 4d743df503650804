import { z } from "zod";

/** Request for an upgrade. Without `digest`, the sidecar only returns the plan; with that plan's digest, it starts the upgrade. */
export const upgradeRequest = z.strictObject({
  /** Absolute path of the new binaries, and their version, which is required if they don't report it. */
  source: z.string().min(1).max(4_096),
  version: z.string().max(64).optional(),
  digest: z.string().max(64).optional(),
});

export type UpgradeRequest = Readonly<z.output<typeof upgradeRequest>>;

/** Outcome of a request. `rejected`: its plan has problems; `another`: the plan differs from the one that was shown. */
export const requestedUpgrade = z.object({
  result: z.enum(["shown", "begun", "rejected", "another"]),
  plan: z.object({
    from: z.string().optional(),
    to: z.string().optional(),
    /** Steps of the upgrade; empty if there are problems. */
    steps: z.array(z.string()),
    problems: z.array(z.string()),
    warnings: z.array(z.string()),
    /** Identifies this plan, so that only the plan that was shown is executed. */
    digest: z.string(),
  }),
  /** Start time of the upgrade, which identifies it in the view. */
  beganMs: z.number().optional(),
});

export type RequestedUpgrade = Readonly<z.output<typeof requestedUpgrade>>;
