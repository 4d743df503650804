import type { Engine } from "./engine.ts";
import type { StageOutcome } from "#sidecar/upgrade/next-stage.ts";
import type { AmendRecord } from "../run-stack-upgrade.ts";
import { buildNames } from "./docker-names.ts";
import type { StackRecord } from "../stack-record.ts";
import { runWorkspaceJob } from "./workspace-job.ts";

type EngineAlone = Readonly<{ engine: Engine }>;

const done = { kind: "done" } as const;

/** Exit status of a process that was killed (128 + SIGKILL). */
const killedStatus = 137;

/** Stops the sidecar before the node: it would restart a node that is silent for long, while its data are copied. */
async function stopBoth(record: StackRecord, { engine }: EngineAlone): Promise<void> {
  const { node, sidecar } = buildNames(record);
  await engine.stop(sidecar);
  await engine.stop(node);
}

/** Stops the node to copy its data. Fails if it had to be killed: its data may be incomplete, and their copy useless for a roll-back. */
export async function stopNode(
  record: StackRecord,
  dependencies: EngineAlone,
  amend: AmendRecord,
): Promise<StageOutcome> {
  await stopBoth(record, dependencies);
  const { node } = buildNames(record);
  const state = (await dependencies.engine.inspect(node))?.State;
  if (state === undefined) return { kind: "failed", why: `the engine has no container ${node} any more` };
  if (state.ExitCode === killedStatus || state.OOMKilled) {
    return { kind: "failed", why: `${node} did not end within its grace and was killed: its data may not be whole` };
  }
  await amend({ lastStart: state.StartedAt });
  return done;
}

/** Copies the data of a node that has not run since it was stopped, over all runs of the command. */
export async function copyStill(record: StackRecord, dependencies: EngineAlone): Promise<StageOutcome> {
  const failed = { kind: "failed", why: `${buildNames(record).node} was started while its data were copied` } as const;
  if (!(await isStill(record, dependencies))) return failed;
  await runWorkspaceJob(record, "copy", { ...dependencies, withinMs: record.limits.copyMs });
  return (await isStill(record, dependencies)) ? done : failed;
}

/** Stops whichever version runs, to put the old data back. */
export async function stopToGoBack(
  record: StackRecord,
  dependencies: EngineAlone,
  amend: AmendRecord,
): Promise<StageOutcome> {
  if (record.restored === "begun" && !(await isStill(record, dependencies))) return failSpoiledRestore(record);
  await stopBoth(record, dependencies);
  const container = await dependencies.engine.inspect(buildNames(record).node);
  await amend({ lastStart: container?.State.StartedAt });
  return done;
}

/** Restores the old data, once. If the node was started over half of them, that can't be undone: the copy is used up. */
export async function putBackStill(
  record: StackRecord,
  dependencies: EngineAlone,
  amend: AmendRecord,
): Promise<StageOutcome> {
  if (record.restored === "whole") return done;
  if (!(await isStill(record, dependencies))) {
    if (record.restored === "begun") return failSpoiledRestore(record);
    return { kind: "failed", why: `${buildNames(record).node} was started while it had to stand still` };
  }
  await amend({ restored: "begun" });
  await runWorkspaceJob(record, "restore", { ...dependencies, withinMs: record.limits.copyMs });
  if (!(await isStill(record, dependencies))) return failSpoiledRestore(record);
  await amend({ restored: "whole" });
  return done;
}

async function isStill(record: StackRecord, { engine }: EngineAlone): Promise<boolean> {
  const state = (await engine.inspect(buildNames(record).node))?.State;
  return state?.Running !== true && state?.StartedAt === record.lastStart;
}

function failSpoiledRestore(record: StackRecord): StageOutcome {
  const { node, volume } = buildNames(record);
  const work = `.gatehouse-upgrade/${record.id}`;
  const why = `${node} was started while the old data were put back into ${volume}: they may not be whole. What was not put back yet is in ${work}/copy on that volume, what made way for it in ${work}/aside. Stop the node, look at them, or let it sync from nothing; to go on is to put back the rest of the copy, and to take the data as they are then`;
  return { kind: "failed", why, isFinal: true };
}
