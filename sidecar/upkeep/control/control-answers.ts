import { z } from "zod";
import { restartRequestResults } from "../restart/requested-restart.ts";
import { upgradeEnds } from "../state/upgrade-record.ts";

/** Path prefix of the control API on a sidecar's listeners. */
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

/** View of the responding sidecar: its node, its process, and its authority. */
export const controlView = z.object({
  node: z.object({ name: z.string(), words: z.string() }),
  sidecar: z.object({ pid: z.int(), host: z.string(), stateDirectory: z.string() }),
  mode: z.enum(["adopt", "enforce", "observe"]),
  authority: z.enum(["acts", "waits", "observes"]),
  hold: hold.optional(),
  /** Absent until the first check of the node. */
  plan: shownPlan.optional(),
  /** Current or last upgrade. */
  upgrade: shownUpgrade.optional(),
});

export type ControlView = Readonly<z.output<typeof controlView>>;

/** Outcome of `resume`; `busy`: a rollback is in progress, which will set its pause again. */
export const resumeResponse = z.object({
  result: z.enum(["lifted", "none", "busy"]),
  /** Pause that was lifted, or is active. */
  hold: hold.optional(),
  /** Consequence of lifting it: whether the failed restart is retried. */
  next: z.string().optional(),
  /** Whether another program counted as a writer of node.conf, which is now reset. */
  wasContested: z.boolean().optional(),
  /** Whether `restart.checkCommand`, which rejected a change of node.conf, is rerun. */
  asksAgain: z.boolean().optional(),
  node: controlView.shape.node,
});

export type ResumeResponse = Readonly<z.output<typeof resumeResponse>>;

/** Outcome of a requested restart: `asked`, or why it isn't made. */
export const restartResponse = z.object({
  result: z.enum(restartRequestResults),
  /** Clause that describes what an `asked` restart waits for; absent if it starts at once, or from an older sidecar. */
  waitsFor: z.string().optional(),
  node: controlView.shape.node,
});

export type RestartResponse = Readonly<z.output<typeof restartResponse>>;

/** Request to adopt the plan that the operator has seen. */
export const adoptRequest = z.strictObject({ digest: z.string().max(64) });

/** Outcome of `adopt`; `another`: the plan differs from the one shown. */
export const adoptResponse = z.object({
  result: z.enum(["adopted", "already", "another", "observes"]),
  view: controlView,
});

export type AdoptResponse = Readonly<z.output<typeof adoptResponse>>;

/** Request for an upgrade. Without `digest`, only returns the plan; with that plan's digest, starts the upgrade. */
export const upgradeRequest = z.strictObject({
  source: z.string().min(1).max(4_096),
  version: z.string().max(64).optional(),
  digest: z.string().max(64).optional(),
});

export type UpgradeBody = Readonly<z.output<typeof upgradeRequest>>;

/** Request to restore the node's data; without `snapshot`, from the copy retained by the last upgrade. `digest` as for an upgrade. */
export const restoreRequest = z.strictObject({
  snapshot: z.string().min(1).max(4_096).optional(),
  digest: z.string().max(64).optional(),
});

export type RestoreBody = Readonly<z.output<typeof restoreRequest>>;

/** Outcome of an upgrade or a restore; `refused` for the problems of its plan, `another`: the plan differs from the one shown. */
export const upgradeResponse = z.object({
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
  /** Start time of the upgrade, which identifies it in the view. */
  beganMs: z.number().optional(),
});

export type UpgradeResponse = Readonly<z.output<typeof upgradeResponse>>;

/** Outcome of `upgrade --cancel`; `none`: there was nothing to cancel. */
export const cancelResponse = z.object({
  result: z.enum(["withdrawn", "none"]),
  /** Description of the cancelled upgrade. */
  words: z.string().optional(),
  node: controlView.shape.node,
});

export type CancelResponse = Readonly<z.output<typeof cancelResponse>>;
