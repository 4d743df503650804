import { EngineError, type Engine } from "./engine.ts";
import type { StackQuestions } from "./node-status.ts";
import type { StepOutcome } from "./next-stage.ts";
import { proveNode } from "./prove-node.ts";
import { findDeadLock } from "./dead-lock.ts";
import { describePendingCreations } from "./pending-creations.ts";
import type { PulumiCli } from "./pulumi/pulumi-cli.ts";
import { endUpdate, type EndUpdateDependencies } from "./running-update.ts";
import type { AmendRecord, StackStep, StackSteps } from "./run-stack-upgrade.ts";
import { formatDockerCommand, formatRefreshCommand } from "./stack-commands.ts";
import { buildConfigChange, namesOf } from "./stack-place.ts";
import {
  defaultLimits,
  type StackLimits,
  type StackRecord,
  type StackStage,
  type UpgradeSide,
} from "./stack-record.ts";
import { updateStack, type UpdateDependencies } from "./stack-update.ts";
import { copyStill, putBackStill, stopNode, stopToGoBack } from "./still-node.ts";
import { formatDiscardCommand, runWorkspaceJob } from "./workspace-job.ts";

/** How a node is proved. */
export type ProofPace = Readonly<{
  /** How often it is looked at, and how long it has to be well. */
  everyMs: number;
  steadyMs: number;
}>;

export type StackStepsDependencies = Omit<UpdateDependencies, "pulumi" | "engine"> &
  EndUpdateDependencies &
  Readonly<{
    pulumi: Pick<PulumiCli, "setConfig" | "update" | "readState" | "removeLocks">;
    engine: Engine;
    questions: Pick<StackQuestions, "look" | "blockHash">;
    proof: ProofPace;
    /** What the way back may take at least, whatever was asked for on the way there. */
    backLimits?: StackLimits;
  }>;

const done = { kind: "done" } as const;

/** How many updates are remembered; more than this upgrade begins, but for those that wait for a lock. */
const earlierMax = 20;

/** What removing a copy may take. */
const removeMs = 600_000;

/** What each stage of an upgrade of a stack on Docker does. An engine that does not answer has nothing changed: it is waited for. */
export function createStackSteps(dependencies: StackStepsDependencies): StackSteps {
  const { backLimits = defaultLimits, say } = dependencies;
  const back = (record: StackRecord) => ({ ...record, limits: raiseLimits(record.limits, backLimits) });
  const steps: StackSteps = {
    stopping: (record, amend) => stopNode(record, dependencies, amend),
    copying: (record) => copyStill(record, dependencies),
    configuring: (record) => configure(record, record.to, dependencies),
    updating: (record, amend) => update(record, record.to, dependencies, amend),
    proving: (record, amend) => proveNew(record, dependencies, amend),
    cleaning: async (record) =>
      noteAll([(await removeCopy(record, dependencies)).note, await describePending(record, dependencies)]),
    "back-stopping": async (record, amend) => {
      const ended = await endUpdate(record, dependencies);
      return ended.kind === "done" ? await stopToGoBack(record, dependencies, amend) : ended;
    },
    "back-discarding": async (record) => {
      const { note } = await removeCopy(record, dependencies);
      if (note !== undefined) say(note);
      return done;
    },
    "back-starting": (record) => startBoth(record, dependencies),
    "back-configuring": (record) => configure(record, record.from, dependencies),
    "back-data": async (record, amend) => {
      const ended = await endUpdate(record, dependencies);
      return ended.kind === "done" ? await putBackStill(back(record), dependencies, amend) : ended;
    },
    "back-updating": (record, amend) => update(back(record), record.from, dependencies, amend),
    "back-proving": (record) => proveOld(back(record), dependencies),
    "back-cleaning": (record) => cleanUp(record, dependencies),
  };
  return Object.fromEntries(Object.entries(steps).map(([stage, step]) => [stage, waitForEngine(step)])) as Record<
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

function waitForEngine(step: StackStep): StackStep {
  return async (...args) => {
    try {
      return await step(...args);
    } catch (error) {
      if (!(error instanceof EngineError) || !error.mayPass) throw error;
      return { kind: "waits", why: error.message };
    }
  };
}

async function configure(
  record: StackRecord,
  side: UpgradeSide,
  { pulumi }: StackStepsDependencies,
): Promise<StepOutcome> {
  const other = side === record.to ? record.from : record.to;
  await pulumi.setConfig(buildConfigChange(record.project, side, other));
  return done;
}

async function update(
  record: StackRecord,
  { image }: UpgradeSide,
  dependencies: StackStepsDependencies,
  amend: AmendRecord,
): Promise<StepOutcome> {
  const ended = await endUpdate(record, dependencies);
  if (ended.kind !== "done") return ended;
  const { engine, processes, clock } = dependencies;
  const begun = [...(record.earlierUpdates ?? []), ...(record.update === undefined ? [] : [record.update])];
  const updated = await updateStack(
    {
      ...record,
      withinMs: record.limits.updateMs,
      names: listMadeContainers(record),
      onBegin: async (pid) => {
        const startedAt = await processes.startOf(pid);
        if (startedAt === undefined) return;
        const now = { pid, startedAt, beganMs: clock.wallMs() };
        await amend({ update: now, earlierUpdates: begun.slice(-earlierMax) });
        begun.push(now);
      },
      findDeadLock: (said) => findDeadLock(said, begun, { processes }),
      onLocked: () => amend({ waitsFor: "lock" }),
    },
    dependencies,
  );
  if (updated.kind !== "done") return updated;
  // Whatever Pulumi believes: another image over these data is what must not be started.
  if (await runsImage(record, image, engine)) return await startBoth(record, dependencies);
  return { kind: "failed", why: `after pulumi up, ${explainOtherImage(record, image)}` };
}

/** The containers that an update of an upgrade makes. */
function listMadeContainers(record: StackRecord): readonly string[] {
  const { node, sidecar } = namesOf(record);
  const deliveries = ["files", "live", "secrets"].map((kind) => `${sidecar}-${kind}`);
  return [node, `${node}-prime`, `${node}-conf`, sidecar, ...deliveries];
}

function describePending(record: StackRecord, dependencies: Pick<StackStepsDependencies, "pulumi" | "engine">) {
  return describePendingCreations({ ...record, names: listMadeContainers(record) }, dependencies);
}

async function runsImage(record: StackRecord, image: string, engine: Engine): Promise<boolean> {
  const [found, wanted] = [(await engine.inspect(namesOf(record).node))?.Image, await engine.findImage(image)];
  return found !== undefined && found === wanted;
}

function explainOtherImage(record: StackRecord, image: string): string {
  return `${namesOf(record).node} is not one of ${image}; look at it, and run: ${formatRefreshCommand(record)}`;
}

/** Pulumi leaves containers alone that it knows unchanged, though they were stopped. */
async function startBoth(
  record: StackRecord,
  { engine }: Pick<StackStepsDependencies, "engine">,
): Promise<StepOutcome> {
  const { node, sidecar } = namesOf(record);
  for (const name of [node, sidecar]) {
    const container = await engine.inspect(name);
    if (container === undefined) return { kind: "failed", why: `the engine has no container ${name}` };
    if (!container.State.Running) await engine.start(name);
  }
  return done;
}

/** A node that reports no version is known by its image alone. */
async function proveNew(
  record: StackRecord,
  { questions, clock, pause, proof, engine }: StackStepsDependencies,
  amend: AmendRecord,
): Promise<StepOutcome> {
  const { before, limits, to } = record;
  const options = { version: to.version, before, mayBeHeld: false, withinMs: limits.proveMs, ...proof };
  const proved = await proveNode(options, { ...questions, clock, pause });
  if (proved.kind === "failed") return proved;
  if (!(await runsImage(record, to.image, engine))) {
    return { kind: "failed", why: explainOtherImage(record, to.image) };
  }
  await amend({ reportedVersion: proved.reportedVersion });
  return done;
}

/** Another command may have left another version here: one that tells none is known by its image alone. */
async function proveOld(
  record: StackRecord,
  { questions, clock, pause, proof, engine }: StackStepsDependencies,
): Promise<StepOutcome> {
  const { before, limits, from } = record;
  const options = { version: from.version, before, mayBeHeld: true, withinMs: limits.proveMs, ...proof };
  const proved = await proveNode(options, { ...questions, clock, pause });
  if (proved.kind === "failed") return proved;
  if (proved.reportedVersion || (await runsImage(record, from.image, engine))) return done;
  return { kind: "failed", why: explainOtherImage(record, from.image) };
}

async function removeCopy(record: StackRecord, { engine }: StackStepsDependencies): Promise<Removed> {
  try {
    await runWorkspaceJob(record, "remove", { engine, withinMs: removeMs });
    return done;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const command = formatDiscardCommand(record);
    const note = `The copy of the data could not be removed (${error.message}). Remove it: ${command}`;
    return { kind: "done", note };
  }
}

/** Nothing else depends on it: what could not be removed is told. */
type Removed = Readonly<{ kind: "done"; note?: string }>;

/** The old version is proved by then: what can't be done is told, and undoes nothing. */
async function cleanUp(record: StackRecord, dependencies: StackStepsDependencies): Promise<StepOutcome> {
  const removed = await removeCopy(record, dependencies);
  const looked = await dependencies.questions.look();
  const isHeld =
    looked.ok && looked.said.conditions.some(({ type, status }) => type === "Unheld" && status === "False");
  const { sidecar } = namesOf(record);
  const resume = formatDockerCommand(record.engine, "exec", sidecar, "node", "/app/cli/gatehouse.js", "resume");
  return noteAll([
    removed.note,
    record.newRan
      ? `What the new version made of the data is kept on the node's volume. Remove it once nobody needs it: ${formatDiscardCommand(record)}`
      : undefined,
    isHeld ? `The sidecar holds. Lift it: ${resume}` : undefined,
    await describePending(record, dependencies),
  ]);
}

function noteAll(all: readonly (string | undefined)[]): StepOutcome {
  const notes = all.filter((note) => note !== undefined);
  return { kind: "done", ...(notes.length === 0 ? {} : { note: notes.join("\n") }) };
}
