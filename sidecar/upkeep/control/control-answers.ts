import { z } from "zod";
import { restartRequestResults } from "../restart/requested-restart.ts";
import { upgradeEnds } from "../state/upgrade-record.ts";

/** Path prefix of a sidecar's control on its listeners. */
export const controlPath = "/control";

const hold = z.object({ message: z.string(), sinceMs: z.number() });

const shownPlan = z.object({ steps: z.array(z.string()), problems: z.array(z.string()), digest: z.string() });

const shownUpgrade = z.object({
  from: z.string(),
  to: z.string(),
  beganMs: z.number(),
  stage: z.string(),
  end: z.enum(upgradeEnds).optional(),
  words: z.string(),
});

/** View of the sidecar that answers: its node, its process, and its right to act. */
export const controlView = z.object({
  node: z.object({ name: z.string(), words: z.string() }),
  sidecar: z.object({ pid: z.int(), host: z.string(), stateDirectory: z.string() }),
  mode: z.enum(["adopt", "enforce", "observe"]),
  authority: z.enum(["acts", "waits", "observes"]),
  hold: hold.optional(),
  /** Absent until the node was looked at once. */
  plan: shownPlan.optional(),
  /** The upgrade that is under way, or the last one. */
  upgrade: shownUpgrade.optional(),
});

export type ControlView = Readonly<z.output<typeof controlView>>;

/** Outcome of `resume`; `busy`: a roll-back is under way, which will set its hold again. */
export const resumeAnswer = z.object({
  result: z.enum(["lifted", "none", "busy"]),
  /** The hold that was lifted, or that is in force. */
  hold: hold.optional(),
  /** Consequence of the lifting: whether the restart that failed is tried again. */
  next: z.string().optional(),
  /** Whether another program counted as writing node.conf, which is forgotten now. */
  wasContested: z.boolean().optional(),
  /** Whether `restart.checkCommand`, which refused a change of node.conf, is run again. */
  asksAgain: z.boolean().optional(),
  node: controlView.shape.node,
});

export type ResumeAnswer = Readonly<z.output<typeof resumeAnswer>>;

/** Outcome of a requested restart: `asked`, or why it is not made. */
export const restartAnswer = z.object({
  result: z.enum(restartRequestResults),
  /** Clause that names what one that is `asked` waits for; absent if it begins at once, or from an older sidecar. */
  waitsFor: z.string().optional(),
  node: controlView.shape.node,
});

export type RestartAnswer = Readonly<z.output<typeof restartAnswer>>;

/** Request to adopt the plan that a person has seen. */
export const adoptRequest = z.strictObject({ digest: z.string().max(64) });

/** Outcome of `adopt`; `another`: the plan is not the one that was seen. */
export const adoptAnswer = z.object({
  result: z.enum(["adopted", "already", "another", "observes"]),
  view: controlView,
});

export type AdoptAnswer = Readonly<z.output<typeof adoptAnswer>>;

/** Request for an upgrade. Without `digest` the plan is only shown; with the digest of that plan the upgrade begins. */
export const upgradeRequest = z.strictObject({
  source: z.string().min(1).max(4_096),
  version: z.string().max(64).optional(),
  digest: z.string().max(64).optional(),
});

export type UpgradeBody = Readonly<z.output<typeof upgradeRequest>>;

/** Request to restore the node's data; without `snapshot` from the copy that the last upgrade kept. `digest` as for an upgrade. */
export const restoreRequest = z.strictObject({
  snapshot: z.string().min(1).max(4_096).optional(),
  digest: z.string().max(64).optional(),
});

export type RestoreBody = Readonly<z.output<typeof restoreRequest>>;

/** Outcome of an upgrade or a restore; `refused` for the problems of its plan, `another`: the plan is not the one that was seen. */
export const upgradeAnswer = z.object({
  result: z.enum(["shown", "begun", "refused", "another"]),
  plan: z.object({
    from: z.string().optional(),
    to: z.string().optional(),
    steps: z.array(z.string()),
    problems: z.array(z.string()),
    warnings: z.array(z.string()),
    digest: z.string(),
  }),
  node: controlView.shape.node,
  /** Time at which the upgrade began, which identifies it in the view. */
  beganMs: z.number().optional(),
});

export type UpgradeAnswer = Readonly<z.output<typeof upgradeAnswer>>;

/** Outcome of `upgrade --cancel`; `none`: there was nothing to withdraw. */
export const cancelAnswer = z.object({
  result: z.enum(["withdrawn", "none"]),
  /** The withdrawn upgrade. */
  words: z.string().optional(),
  node: controlView.shape.node,
});

export type CancelAnswer = Readonly<z.output<typeof cancelAnswer>>;
