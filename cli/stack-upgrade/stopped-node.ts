import { UpgradeError } from "#sidecar/upgrade/progress.ts";
import type { StackPlatform, AmendRecord } from "./stack-platform.ts";
import type { StackRecord } from "./stack-record.ts";

/** Stops the node so that its data can be copied. Fails if the node had to be killed: its data may be incomplete, and a copy useless for a rollback. */
export async function stopForCopy(record: StackRecord, platform: StackPlatform, amend: AmendRecord): Promise<void> {
  // Skipped if an earlier run saw how the node exited and was killed afterwards.
  if (record.lastStart === undefined || (await platform.see()).lastStart !== record.lastStart) {
    const end = await platform.end();
    const { node } = platform;
    if (end === "killed")
      throw new UpgradeError(`${node} was killed after its grace period: its data may be incomplete`);
    if (end === "unknown") throw new UpgradeError(`it is unknown how ${node} exited: its data may be incomplete`);
    await amend({ lastStart: (await platform.see()).lastStart });
  }
  await platform.stop();
}

/** @throws {UpgradeError} if the node has run since it was stopped, also by an earlier run of the command. */
export async function requireStill(record: StackRecord, platform: StackPlatform): Promise<void> {
  if (await isStill(record, platform)) return;
  const { node, explainSpoiled } = platform;
  if (record.restored === "begun" && explainSpoiled !== undefined)
    throw new UpgradeError(explainSpoiled(record), "final");
  throw new UpgradeError(`${node} was started while it had to stay stopped`);
}

/** Stops whichever version runs, to restore the old data. */
export async function stopForRestore(record: StackRecord, platform: StackPlatform, amend: AmendRecord): Promise<void> {
  const isHalf = record.restored === "begun";
  // With --continue, the operator accepts half-restored data as it is now.
  const isAccepted = record.attempts === 0;
  if (isHalf && !isAccepted && platform.explainSpoiled !== undefined) await requireStill(record, platform);
  await platform.stop();
  const { lastStart } = await platform.see();
  await amend({ lastStart, restored: isHalf && isAccepted ? undefined : record.restored });
}

/** Restores the old data once. */
export async function restoreData(record: StackRecord, platform: StackPlatform, amend: AmendRecord): Promise<void> {
  if (record.restored === "whole") return;
  await amend({ restored: "begun" });
  await platform.restoreData(record);
  await requireStill({ ...record, restored: "begun" }, platform);
  await amend({ restored: "whole" });
}

async function isStill(record: StackRecord, platform: StackPlatform): Promise<boolean> {
  const { isStopped, lastStart } = await platform.see();
  return isStopped && lastStart === record.lastStart;
}
