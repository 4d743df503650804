import { StageError } from "#sidecar/upgrade/next-stage.ts";
import type { StackPlatform } from "./stack-platform.ts";
import type { StackRecord } from "./stack-record.ts";
import type { AmendRecord } from "./stack-work.ts";

/** Stops the node so that its data can be copied. Fails if the node had to be killed: its data may be incomplete, and a copy useless for a rollback. */
export async function stopNodeForCopy(record: StackRecord, platform: StackPlatform, amend: AmendRecord): Promise<void> {
  // Skipped if an earlier run saw how the node exited and was killed afterwards.
  if (record.lastStart === undefined || (await platform.see()).lastStart !== record.lastStart) {
    const end = await platform.end();
    if (end === "killed") {
      throw new StageError(`${platform.node} was killed after its grace period: its data may be incomplete`);
    }
    if (end === "unknown") {
      throw new StageError(`it is unknown how ${platform.node} exited: its data may be incomplete`);
    }
    await amend({ lastStart: (await platform.see()).lastStart });
  }
  await platform.stop();
}

/** Copies the data of a node that has not run since it was stopped, across all runs of the command. */
export async function copyStopped(record: StackRecord, platform: StackPlatform): Promise<void> {
  const requireStopped = async () => {
    if (await isStill(record, platform)) return;
    throw new StageError(`${platform.node} was started while its data was copied`);
  };
  await requireStopped();
  await platform.copyData(record);
  await requireStopped();
}

/** Stops whichever version runs, to restore the old data. */
export async function stopToRestore(record: StackRecord, platform: StackPlatform, amend: AmendRecord): Promise<void> {
  const isSpoiled = record.restored === "begun" && !(await isStill(record, platform));
  if (isSpoiled && platform.explainSpoiled !== undefined) throw explainStarted(record, platform);
  await platform.stop();
  await amend({ restored: isSpoiled ? undefined : record.restored, lastStart: (await platform.see()).lastStart });
}

/** Restores the old data once. */
export async function restoreStopped(record: StackRecord, platform: StackPlatform, amend: AmendRecord): Promise<void> {
  if (record.restored === "whole") return;
  if (!(await isStill(record, platform))) throw explainStarted(record, platform);
  await amend({ restored: "begun" });
  await platform.restoreData(record);
  if (!(await isStill(record, platform))) throw explainStarted({ ...record, restored: "begun" }, platform);
  await amend({ restored: "whole" });
}

async function isStill(record: StackRecord, platform: StackPlatform): Promise<boolean> {
  const { isStopped, lastStart } = await platform.see();
  return isStopped && lastStart === record.lastStart;
}

/** Explains that something started the node; final if its data was half restored and can't be restored again. */
function explainStarted(record: StackRecord, { node, explainSpoiled }: StackPlatform): StageError {
  if (record.restored === "begun" && explainSpoiled !== undefined) {
    return new StageError(explainSpoiled(record), "final");
  }
  return new StageError(`${node} was started while it had to stay stopped`);
}
