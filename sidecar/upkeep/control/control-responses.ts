import { z } from "zod";
import { planView } from "../plan/plan-view.ts";
import { restartRequestResults } from "../restart/requested-restart.ts";
import { requestedUpgrade } from "../upgrade/requested-upgrade.ts";
import { upgradeOutcomes } from "../../upgrade/progress.ts";

export const controlPath = "/control";

const hold = z.object({ message: z.string(), sinceMs: z.number() });

const shownUpgrade = z.object({
  from: z.string(),
  to: z.string(),
  beganMs: z.number(),
  stage: z.string(),
  end: z.enum(upgradeOutcomes).optional(),
  words: z.string(),
});

export const controlView = z.object({
  node: z.object({ name: z.string(), words: z.string() }),
  sidecar: z.object({ pid: z.int(), host: z.string(), stateDirectory: z.string() }),
  mode: z.enum(["adopt", "enforce", "observe"]),
  authority: z.enum(["acts", "waits", "observes"]),
  hold: hold.optional(),
  /** The sidecar's plan; absent until the first check of the node. */
  plan: planView.optional(),
  upgrade: shownUpgrade.optional(),
});

export type ControlView = Readonly<z.output<typeof controlView>>;

/** Outcome of `resume`. `busy`: a rollback is in progress and will pause the sidecar again. */
export const resumeResponse = z.object({
  result: z.enum(["lifted", "none", "busy"]),
  hold: hold.optional(),
  next: z.string().optional(),
  /** Whether another program counted as a writer of node.conf; this is now reset. */
  wasContested: z.boolean().optional(),
  /** Whether the sidecar may not act before `gatehouse adopt`; absent from an older sidecar. */
  waits: z.boolean().optional(),
  node: controlView.shape.node,
});

export type ResumeResponse = Readonly<z.output<typeof resumeResponse>>;

export const restartResponse = z.object({
  result: z.enum(restartRequestResults),
  /** Clause describing what a requested restart is waiting for; absent if the restart starts at once, or if an older sidecar responded. */
  waitsFor: z.string().optional(),
  node: controlView.shape.node,
});

export type RestartResponse = Readonly<z.output<typeof restartResponse>>;

export const adoptRequest = z.strictObject({ digest: z.string().max(64) });

/** Outcome of `adopt`. `another`: the plan differs from the one that was shown. */
export const adoptResponse = z.object({
  result: z.enum(["adopted", "already", "another", "observes"]),
  view: controlView,
});

export type AdoptResponse = Readonly<z.output<typeof adoptResponse>>;

export const upgradeResponse = requestedUpgrade.extend({ node: controlView.shape.node });

export type UpgradeResponse = Readonly<z.output<typeof upgradeResponse>>;
