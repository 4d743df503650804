import { EngineError, type Engine, type EngineContainer } from "./engine.ts";
import type { StackQuestions } from "./node-status.ts";
import type { StepOutcome } from "./next-stage.ts";
import { proveNode } from "./prove-node.ts";
import type { PulumiCli } from "./pulumi-cli.ts";
import type { StackSteps } from "./run-stack-upgrade.ts";
import { buildConfigChange, namesOf } from "./stack-place.ts";
import type { StackRecord, UpgradeSide } from "./stack-record.ts";
import { updateStack, type UpdateDependencies } from "./stack-update.ts";
import { formatDiscardCommand, runWorkspaceJob, type WorkspaceAction } from "./workspace-job.ts";

export type StackStepsDependencies = Omit<UpdateDependencies, "pulumi" | "engine"> &
  Readonly<{
    pulumi: Pick<PulumiCli, "setConfig" | "update">;
    engine: Engine;
    questions: Pick<StackQuestions, "look" | "blockHash">;
    /** How often a node that is being proved is looked at, and how long it has to be well. */
    proof: Readonly<{ everyMs: number; steadyMs: number }>;
  }>;

const done = { kind: "done" } as const;

/** What removing a copy may take. */
const removeMs = 600_000;

/** The exit status of a process that was killed. */
const killedStatus = 137;

/** What each stage of an upgrade of a stack on Docker does. An engine that does not answer has nothing changed: it is waited for. */
export function createStackSteps(dependencies: StackStepsDependencies): StackSteps {
  const steps: StackSteps = {
    stopping: (record) => stopNode(record, dependencies),
    copying: (record) => whileStill(record, "copy", dependencies),
    configuring: (record) => configure(record, record.to, dependencies),
    updating: (record) => update(record, record.to, dependencies),
    proving: (record) => prove(record, record.to, dependencies),
    cleaning: (record) => removeCopy(record, dependencies),
    "back-stopping": (record) => stopBoth(record, dependencies),
    "back-configuring": (record) => configure(record, record.from, dependencies),
    "back-data": (record) => putDataBack(record, dependencies),
    "back-updating": (record) =>
      record.newRan ? update(record, record.from, dependencies) : startBoth(record, dependencies),
    "back-proving": (record) => proveOld(record, dependencies),
  };
  return Object.fromEntries(
    Object.entries(steps).map(([stage, step]) => [
      stage,
      (...args: Parameters<typeof step>) => waitForEngine(step(...args)),
    ]),
  ) as StackSteps;
}

async function waitForEngine(step: Promise<StepOutcome>): Promise<StepOutcome> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof EngineError) || error.hasAnswered) throw error;
    return { kind: "waits", why: error.message };
  }
}

/** The sidecar first: it would start a node that is silent for long, while its data are copied. */
async function stopBoth(record: StackRecord, { engine }: StackStepsDependencies): Promise<StepOutcome> {
  const { node, sidecar } = namesOf(record);
  await engine.stop(sidecar);
  await engine.stop(node);
  return done;
}

/** A node that had to be killed may have left data that are not whole: its copy would be none to go back to. */
async function stopNode(record: StackRecord, dependencies: StackStepsDependencies): Promise<StepOutcome> {
  await stopBoth(record, dependencies);
  const { node } = namesOf(record);
  const state = (await dependencies.engine.inspect(node))?.State;
  if (state === undefined) return { kind: "failed", why: `the engine has no container ${node} any more` };
  if (state.ExitCode !== killedStatus && !state.OOMKilled) return done;
  return { kind: "failed", why: `${node} did not end within its grace and was killed: its data may not be whole` };
}

/** Does something to the data of a node that stands still, and makes sure that it stood still all the while. */
async function whileStill(
  record: StackRecord,
  action: WorkspaceAction,
  { engine }: Pick<StackStepsDependencies, "engine">,
): Promise<StepOutcome> {
  const { node } = namesOf(record);
  const before = await engine.inspect(node);
  if (before?.State.Running === true) return { kind: "failed", why: `${node} was started while it had to stand still` };
  await runWorkspaceJob(record, action, { engine, withinMs: record.limits.copyMs });
  const after = await engine.inspect(node);
  if (isSameStart(before, after)) return done;
  return { kind: "failed", why: `${node} was started while its data were worked on (${action})` };
}

function isSameStart(before: EngineContainer | undefined, after: EngineContainer | undefined): boolean {
  return after?.State.Running !== true && before?.State.StartedAt === after?.State.StartedAt;
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
): Promise<StepOutcome> {
  const { node, sidecar } = namesOf(record);
  const names = [node, sidecar, `${node}-prime`, `${node}-conf`, `${sidecar}-files`];
  const { stack, limits } = record;
  const updated = await updateStack({ stack, withinMs: limits.updateMs, names }, dependencies);
  if (updated.kind !== "done") return updated;
  // Whatever Pulumi believes: another image over these data is what must not be started.
  const { engine } = dependencies;
  const [found, wanted] = [(await engine.inspect(node))?.Image, await engine.findImage(image)];
  if (found !== undefined && found === wanted) return startBoth(record, dependencies);
  return {
    kind: "failed",
    why: `after pulumi up, ${node} is not one of ${image}; look at it, and run pulumi up --refresh`,
  };
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

function prove(
  { before, limits }: StackRecord,
  { version }: UpgradeSide,
  { questions, clock, proof }: StackStepsDependencies,
  mayBeHeld = false,
): Promise<StepOutcome> {
  const options = { version, before, mayBeHeld, withinMs: limits.proveMs, ...proof };
  return proveNode(options, { ...questions, clock });
}

async function removeCopy(record: StackRecord, { engine }: StackStepsDependencies): Promise<StepOutcome> {
  try {
    await runWorkspaceJob(record, "remove", { engine, withinMs: removeMs });
    return done;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const command = formatDiscardCommand(record);
    return {
      kind: "done",
      note: `The copy of the data could not be removed (${error.message}). Remove it: ${command}`,
    };
  }
}

/** Before the new version was begun, the data are those of before. */
async function putDataBack(record: StackRecord, dependencies: StackStepsDependencies): Promise<StepOutcome> {
  return record.newRan ? await whileStill(record, "restore", dependencies) : done;
}

async function proveOld(record: StackRecord, dependencies: StackStepsDependencies): Promise<StepOutcome> {
  const proved = await prove(record, record.from, dependencies, true);
  if (proved.kind !== "done") return proved;
  const removed = await removeCopy(record, dependencies);
  const looked = await dependencies.questions.look();
  const isHeld =
    looked.ok && looked.said.conditions.some(({ type, status }) => type === "Unheld" && status === "False");
  const notes = [
    removed.kind === "done" ? removed.note : undefined,
    record.newRan
      ? `What the new version made of the data is kept on the node's volume. Remove it once nobody needs it: ${formatDiscardCommand(record)}`
      : undefined,
    isHeld
      ? `The sidecar holds. Lift it: docker exec ${namesOf(record).sidecar} node /app/cli/gatehouse.js resume`
      : undefined,
  ].filter((note) => note !== undefined);
  return { kind: "done", ...(notes.length === 0 ? {} : { note: notes.join("\n") }) };
}
