import { stageDescriptions, UpgradeError } from "#sidecar/upgrade/progress.ts";
import { runUpgrade, type RunResult, type UpgradePlatform } from "#sidecar/upgrade/run-upgrade.ts";
import { verifyStackNode } from "./verify-stack-node.ts";
import { finishUpdate, updateStack } from "./stack-update.ts";
import { PulumiError } from "./pulumi/pulumi-process.ts";
import { formatPulumiCommand } from "./stack-commands.ts";
import { buildConfigChange } from "./deployed-stack.ts";
import { findCondition } from "./node-status.ts";
import { PlatformError, type StackPlatform, type StackTask } from "./stack-platform.ts";
import { defaultLimits, type StackRecord } from "./stack-record.ts";

type Side = "from" | "to";
type Amend = (facts: Partial<StackRecord>) => Promise<void>;

/** The error that the program reports for a container that is not running (infra/docker/health-wait.ts). */
const stoppedContainer = /is exited and not healthy/;

/** Exit status of a killed process (128 + SIGKILL). */
const killedStatus = 137;

/** Pause before the next rollback attempt: a failure may be temporary. */
const betweenTriesMs = 10_000;

/** `remember` resolves once the record is on disk. */
export function runStackUpgrade(
  startedRecord: StackRecord,
  { isResumed, remember }: Readonly<{ isResumed: boolean; remember: (record: StackRecord) => Promise<void> }>,
  work: StackTask,
): Promise<RunResult<StackRecord>> {
  const { say, pause, signal } = work;
  return runUpgrade(
    startedRecord,
    { isResumed },
    {
      ...work,
      platform: createStackUpgrade(work),
      remember,
      onStage: ({ stage }, how) => say(`${how.isResumed ? "Resuming: " : "Now "}${stageDescriptions[stage]}.`),
      onFailure: async (why, { attempts, end }) => {
        say(`Failed: ${why}`);
        if (attempts > 0 && end === undefined) await pause(betweenTriesMs, signal);
      },
    },
  );
}

/** Creates the stages of a stack upgrade, whose new version is started by `pulumi up`. */
function createStackUpgrade(work: StackTask): UpgradePlatform<StackRecord> {
  const { platform, pulumi, rollbackLimits: minLimits = defaultLimits, say } = work;
  const raiseLimits = (record: StackRecord): StackRecord => {
    const { copyMs, updateMs, proveMs } = record.limits;
    const limits = {
      copyMs: Math.max(copyMs, minLimits.copyMs),
      updateMs: Math.max(updateMs, minLimits.updateMs),
      proveMs: Math.max(proveMs, minLimits.proveMs),
    };
    return { ...record, limits };
  };
  const configure = ({ project, from, to }: StackRecord, side: Side) =>
    pulumi.setConfig(side === "to" ? buildConfigChange(project, to, from) : buildConfigChange(project, from, to));
  return {
    touches: "proving",
    requireUnchanged: (record) => requireUnchanged(record, platform),
    stages: {
      stopping: (record, { amend }) => stopForCopy(record, platform, amend),
      copying: (record) => platform.copyData(record),
      installing: (record) => configure(record, "to"),
      proving: async (record) => {
        await update(record, "to", work);
        await verify(record, "to", work);
      },
      cleaning: async (record, { amend }) => amend({ note: await removeCopy(record, platform) }),
      "back-stopping": async (record, { amend }) => {
        await finishUpdate(record, work);
        await stopForRestore(record, platform, amend);
      },
      "back-installing": (record) => configure(record, "from"),
      "back-data": (record, { amend }) => restoreData(raiseLimits(record), platform, amend),
      "back-proving": async (record, { amend }) => {
        await update(raiseLimits(record), "from", work);
        await verify(raiseLimits(record), "from", work);
        await finishBack(record, work, amend);
      },
      "back-discarding": async (record) => {
        const note = await removeCopy(record, platform);
        if (note !== undefined) say(note);
      },
      // The node is started before Pulumi runs, which may be what failed.
      "back-restarting": async (record, { amend }) => {
        await platform.start();
        if (record.failedStage === "installing") await configure(record, "from");
        await verify(raiseLimits(record), "from", work);
        await finishBack(record, work, amend);
      },
    },
  };
}

/** Runs `pulumi up` until the node has the image of that side, and starts what Pulumi leaves stopped. */
async function update(record: StackRecord, side: Side, work: StackTask): Promise<void> {
  await finishUpdate(record, work);
  const { image } = record[side];
  const { platform, say } = work;
  say(`Now running pulumi up with ${image}.`);
  const runPulumiUp = () => updateStack(record, work);
  try {
    await runPulumiUp();
  } catch (error) {
    // Pulumi does not start a stopped sidecar with an unchanged definition, so the program waits in vain for it to become healthy.
    const isLeft =
      error instanceof PulumiError && stoppedContainer.test(error.message) && (await platform.runsImage(image));
    if (!isLeft) throw error;
    await platform.start();
    await runPulumiUp();
  }
  // Checks the node's actual image, not Pulumi's state: another image must not be started on this data.
  if (!(await platform.runsImage(image)) && (await platform.repair(undefined, record, work))) await runPulumiUp();
  await requireImage(record, side, platform);
  await platform.start();
}

/** @throws {UpgradeError} unless the node has the image of that side. */
async function requireImage(record: StackRecord, side: Side, platform: StackPlatform): Promise<void> {
  const { image } = record[side];
  if (await platform.runsImage(image)) return;
  const refresh = formatPulumiCommand(record, "up", "--refresh", "--config-file", record.configFile);
  throw new UpgradeError(`${platform.node} does not run ${image}; inspect it, then run: ${refresh}`);
}

/** Verifies one version. A node that reports no version is identified only by its image; its tag may have moved, unlike the version. */
async function verify(record: StackRecord, side: Side, work: StackTask): Promise<void> {
  const { before, limits } = record;
  const { queries, proof, platform } = work;
  const options = { ...record[side], before, mayBePaused: side === "from", withinMs: limits.proveMs, ...proof };
  await verifyStackNode(options, { ...work, ...queries });
  if (side === "to" || !before.tellsVersion) await requireImage(record, side, platform);
}

/** Removes the copy, which no later step depends on: returns a note for the operator if that fails. */
async function removeCopy(record: StackRecord, platform: StackPlatform): Promise<string | undefined> {
  try {
    await platform.removeCopy(record);
    return undefined;
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return `The copy of the data could not be removed (${error.message}). Remove it: ${platform.formatDiscardCommand(record)}`;
  }
}

/** Removes the copy and lists leftovers. The old version is already verified: failures are reported but undo nothing. */
async function finishBack(record: StackRecord, { platform, queries }: StackTask, amend: Amend): Promise<void> {
  const removedCopy = await removeCopy(record, platform);
  const nodeCheck = await queries.checkNode();
  const isPaused = nodeCheck.ok && findCondition(nodeCheck.said, "NotPaused")?.reason === "Paused";
  const notes = [
    removedCopy,
    record.stage === "back-proving" && platform.keepsFailedData
      ? `The data of the new version is kept on the node's volume. Remove it once it is no longer needed: ${platform.formatDiscardCommand(record)}`
      : undefined,
    isPaused ? `The sidecar is paused. Resume it: ${platform.resumeCommand}` : undefined,
  ].filter((note) => note !== undefined);
  if (notes.length > 0) await amend({ note: notes.join("\n") });
}

/** Stops the node so that its data can be copied. Fails if the node had to be killed: its data may be incomplete, and a copy useless for a rollback. */
async function stopForCopy(record: StackRecord, platform: StackPlatform, amend: Amend): Promise<void> {
  // Skipped if an earlier run saw how the node exited and was killed afterwards.
  if (record.lastStart === undefined || (await platform.see()).lastStart !== record.lastStart) {
    const exit = await platform.end();
    const { node } = platform;
    if (exit === undefined) throw new UpgradeError(`it is unknown how ${node} exited: its data may be incomplete`);
    if (exit.exitCode === killedStatus || exit.isOutOfMemory)
      throw new UpgradeError(`${node} was killed after its grace period: its data may be incomplete`);
    await amend({ lastStart: (await platform.see()).lastStart });
  }
  await platform.stop();
}

/** @throws {UpgradeError} if the node has run since it was stopped, also by an earlier run of the command. */
async function requireUnchanged(record: StackRecord, platform: StackPlatform): Promise<void> {
  const { isStopped, lastStart } = await platform.see();
  if (isStopped && lastStart === record.lastStart) return;
  const { node, explainSpoiled } = platform;
  if (record.restored === "begun" && explainSpoiled !== undefined)
    throw new UpgradeError(explainSpoiled(record), "final");
  throw new UpgradeError(`${node} was started while it had to stay stopped`);
}

async function stopForRestore(record: StackRecord, platform: StackPlatform, amend: Amend): Promise<void> {
  // With --continue, which resets the attempts, the operator accepts half-restored data as it is now.
  const mayBeCorrupt = platform.explainSpoiled !== undefined && record.attempts > 0;
  if (mayBeCorrupt && record.restored === "begun") await requireUnchanged(record, platform);
  await platform.stop();
  await amend({ lastStart: (await platform.see()).lastStart });
}

async function restoreData(record: StackRecord, platform: StackPlatform, amend: Amend): Promise<void> {
  if (record.restored === "whole") return;
  await amend({ restored: "begun" });
  await platform.restoreData(record);
  await requireUnchanged({ ...record, restored: "begun" }, platform);
  await amend({ restored: "whole" });
}
