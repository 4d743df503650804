import type { StackQueries } from "./node-status.ts";
import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import { proveNode } from "./prove-node.ts";
import { updateStack, type UpdateDependencies } from "./stack-update.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import { endUpdate, type EndUpdateDependencies } from "./running-update.ts";
import type { AmendRecord, StackStep, StackSteps } from "./run-stack-upgrade.ts";
import { describePlatform } from "./describe-platform.ts";
import { formatRefreshCommand } from "./stack-commands.ts";
import { buildConfigChange } from "./deployed-stack.ts";
import { PlatformError, type StackPlatform } from "./stack-platform.ts";
import {
  defaultLimits,
  type StackLimits,
  type StackRecord,
  type StackStage,
  type UpgradeSide,
} from "./stack-record.ts";
import { copyStopped, restoreStopped, stopToCopy, stopToRestore } from "./stopped-node.ts";

/** Timing of a node's verification. */
export type ProofPace = Readonly<{
  /** Check interval, and the time for which the node has to stay healthy. */
  everyMs: number;
  steadyMs: number;
}>;

export type StackStepsDependencies = Omit<UpdateDependencies, "pulumi" | "processes"> &
  EndUpdateDependencies &
  Readonly<{
    pulumi: Pick<PulumiCli, "setConfig" | "update" | "readState" | "refresh" | "removeLocks">;
    platform: StackPlatform;
    queries: Pick<StackQueries, "look" | "blockHash">;
    proof: ProofPace;
    /** Min time limits of the rollback, independent of those requested for the upgrade. */
    backLimits?: StackLimits;
  }>;

const done = { kind: "done" } as const;

/** Max number of earlier updates to record; an upgrade starts fewer, not counting those that wait for a lock. */
const earlierMax = 20;

/** The error that the program reports for a container that is not running (infra/docker/health-wait.ts). */
const leftStopped = /is exited and not healthy/;

/** Creates the steps of a stack upgrade. An engine or cluster that does not respond has changed nothing, so a step waits for it. */
export function createStackSteps(dependencies: StackStepsDependencies): StackSteps {
  const { platform, backLimits = defaultLimits, say } = dependencies;
  const back = (record: StackRecord) => ({ ...record, limits: raiseLimits(record.limits, backLimits) });
  const steps: StackSteps = {
    stopping: (record, { amend }) => stopToCopy(record, platform, amend),
    copying: (record) => copyStopped(record, platform),
    configuring: (record) => setSide(record, record.to, dependencies),
    updating: (record, { amend }) => update(record, record.to, dependencies, amend),
    proving: (record, { amend }) => proveNew(record, dependencies, amend),
    cleaning: async (record) =>
      noteAll([(await platform.removeCopy(record)).note, ...(await platform.describeLeftovers(record, dependencies))]),
    "back-stopping": async (record, { amend }) => {
      const ended = await endUpdate(record, dependencies);
      return ended.kind === "done" ? await stopToRestore(record, platform, amend) : ended;
    },
    "back-discarding": async (record) => {
      const { note } = await platform.removeCopy(record);
      if (note !== undefined) say(note);
      return done;
    },
    "back-starting": (record) => platform.start(record),
    "back-configuring": (record) => setSide(record, record.from, dependencies),
    "back-data": async (record, { amend }) => {
      const ended = await endUpdate(record, dependencies);
      return ended.kind === "done" ? await restoreStopped(back(record), platform, amend) : ended;
    },
    "back-updating": (record, { amend }) => update(back(record), record.from, dependencies, amend),
    "back-proving": (record) => proveOld(back(record), dependencies),
    "back-cleaning": (record) => finishBack(record, dependencies),
  };
  return Object.fromEntries(Object.entries(steps).map(([stage, step]) => [stage, waitForPlatform(step)])) as Record<
    StackStage,
    StackStep
  >;
}

function raiseLimits(limits: StackLimits, least: StackLimits): StackLimits {
  return {
    copyMs: Math.max(limits.copyMs, least.copyMs),
    updateMs: Math.max(limits.updateMs, least.updateMs),
    proveMs: Math.max(limits.proveMs, least.proveMs),
  };
}

function waitForPlatform(step: StackStep): StackStep {
  return async (...args) => {
    try {
      return await step(...args);
    } catch (error) {
      if (!(error instanceof PlatformError) || !error.mayPass) throw error;
      return { kind: "waits", why: error.message };
    }
  };
}

async function setSide(
  record: StackRecord,
  side: UpgradeSide,
  { pulumi }: StackStepsDependencies,
): Promise<StageOutcome> {
  const other = side === record.to ? record.from : record.to;
  await pulumi.setConfig(buildConfigChange(record.project, side, other));
  return done;
}

async function update(
  record: StackRecord,
  { image }: UpgradeSide,
  dependencies: StackStepsDependencies,
  amend: AmendRecord,
): Promise<StageOutcome> {
  const ended = await endUpdate(record, dependencies);
  if (ended.kind !== "done") return ended;
  const { platform, pulumi, say } = dependencies;
  const runPulumiUp = createUpdate(record, dependencies, amend);
  let updated = await runPulumiUp();
  // Pulumi does not start a stopped sidecar with an unchanged definition, so the program waits in vain for it to become healthy.
  if (updated.kind === "failed" && leftStopped.test(updated.why) && (await platform.runsImage(record, image))) {
    await platform.start(record);
    updated = await runPulumiUp();
  }
  if (updated.kind !== "done") return updated;
  // Checks the node's actual image, not Pulumi's state: another image must not be started on this data.
  if (await platform.runsImage(record, image)) return await platform.start(record);
  const forgotten = await platform.listForgotten(record, dependencies);
  if (forgotten.length > 0) {
    say("Pulumi believes that the node has this image, and it has another; looking at it, and once more.");
    await pulumi.refresh(forgotten, record.limits.updateMs);
    const again = await runPulumiUp();
    if (again.kind !== "done") return again;
    if (await platform.runsImage(record, image)) return await platform.start(record);
  }
  return { kind: "failed", why: `after pulumi up, ${explainOtherImage(record, image)}` };
}

function createUpdate(
  record: StackRecord,
  dependencies: StackStepsDependencies,
  amend: AmendRecord,
): () => Promise<StageOutcome> {
  const { platform, processes, clock } = dependencies;
  const begun = [...(record.earlierUpdates ?? []), ...(record.update === undefined ? [] : [record.update])];
  return () =>
    updateStack(
      {
        ...record,
        withinMs: record.limits.updateMs,
        removeStrays: (said) => platform.removeStrays(record, said, dependencies),
        onBegin: async (pid) => {
          const startedAt = await processes.startOf(pid);
          if (startedAt === undefined) return;
          const now = { pid, startedAt, beganMs: clock.wallMs() };
          await amend({ update: now, earlierUpdates: begun.slice(-earlierMax) });
          begun.push(now);
        },
        begun,
        onLocked: () => amend({ waitsFor: "lock" }),
      },
      dependencies,
    );
}

function explainOtherImage(record: StackRecord, image: string): string {
  return `${describePlatform(record).node} is not one of ${image}; look at it, and run: ${formatRefreshCommand(record)}`;
}

/** Verifies the new version. A node that reports no version is identified only by its image. */
async function proveNew(
  record: StackRecord,
  { queries, clock, pause, proof, platform }: StackStepsDependencies,
  amend: AmendRecord,
): Promise<StageOutcome> {
  const { before, limits, to } = record;
  const options = { ...to, before, mayBeHeld: false, withinMs: limits.proveMs, ...proof };
  const proved = await proveNode(options, { ...queries, clock, pause });
  if (proved.kind === "failed") return proved;
  if (!(await platform.runsImage(record, to.image))) {
    return { kind: "failed", why: explainOtherImage(record, to.image) };
  }
  await amend({ reportedVersion: proved.reportedVersion });
  return done;
}

/** Verifies the old version. Another command may have left a different version here; a node that reports no version is identified only by its image. */
async function proveOld(
  record: StackRecord,
  { queries, clock, pause, proof, platform }: StackStepsDependencies,
): Promise<StageOutcome> {
  const { before, limits, from } = record;
  const options = { ...from, before, mayBeHeld: true, withinMs: limits.proveMs, ...proof };
  const proved = await proveNode(options, { ...queries, clock, pause });
  if (proved.kind === "failed") return proved;
  if (proved.reportedVersion || (await platform.runsImage(record, from.image))) return done;
  return { kind: "failed", why: explainOtherImage(record, from.image) };
}

/** Removes the copy and lists leftovers. The old version is already verified: failures are reported but undo nothing. */
async function finishBack(record: StackRecord, dependencies: StackStepsDependencies): Promise<StageOutcome> {
  const { platform, queries } = dependencies;
  const removed = await platform.removeCopy(record);
  const looked = await queries.look();
  const isHeld =
    looked.ok && looked.said.conditions.some(({ type, status }) => type === "NotPaused" && status === "False");
  return noteAll([
    removed.note,
    ...(await platform.describeLeftovers(record, dependencies)),
    isHeld ? `The sidecar holds. Lift it: ${describePlatform(record).resume}` : undefined,
  ]);
}

function noteAll(all: readonly (string | undefined)[]): StageOutcome {
  const notes = all.filter((note) => note !== undefined);
  return { kind: "done", ...(notes.length === 0 ? {} : { note: notes.join("\n") }) };
}
