import { join } from "node:path";
import { rm } from "node:fs/promises";
import type { BootTime } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { quoteShellWord } from "#daemon/command-line/shell-word.ts";
import { parseNodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { listUpgradeDirectories, type UpgradeRecord, type UpgradeStage } from "../state/upgrade-record.ts";
import { keepConfig, migrateConfig, putConfigBack, type ConfigStepDependencies } from "./config-for-version.ts";
import { copyStores, putStoreBack, removeCopy } from "./data/data-copy.ts";
import { finishCopies, copyRunningStores } from "./data/pre-copy.ts";
import { copySnapshot, revertRestore } from "./data/restore-data.ts";
import type { StageOutcome } from "../../upgrade/next-stage.ts";
import { isStopped, stopNode } from "./node-power.ts";
import { findOtherFile, hashFiles, installPrograms, keepPrograms, putProgramsBack } from "./program-files.ts";
import { endWritersOf } from "./data/rsync.ts";
import type { waitForStop } from "./wait-for-stop.ts";
import { proveVersion, type ProofDependencies, type ProofOptions } from "./prove-version.ts";
import type { StageSteps } from "../../upgrade/run-upgrade.ts";

export type UpgradeStepsDependencies = ProofDependencies &
  ConfigStepDependencies &
  Readonly<{
    log: Logger;
    settings: Pick<SidecarSettings, "restart" | "node" | "nodeCli"> &
      Readonly<{ upgrade: Pick<SidecarSettings["upgrade"], "copyTimeoutMs" | "preCopyTimeoutMs"> }>;
    boot: () => BootTime;
    /** Waits until the node may be stopped, as approved. */
    waitForStop: (record: UpgradeRecord) => ReturnType<typeof waitForStop>;
    /** Called when node.conf may have changed, before the node is verified with it. */
    readConfig: () => Promise<void>;
    /** Called once a version has started, before the upgrade ends. If the previous version were still recorded, node.conf would be changed back. */
    observeVersion: () => Promise<void>;
  }>;

const done: StageOutcome = { kind: "done" };

/** Creates the steps for upgrading a node whose programs and data are on this machine. */
export function createUpgradeSteps(dependencies: UpgradeStepsDependencies): StageSteps<UpgradeStage, UpgradeRecord> {
  const { settings, signal, readConfig, observeVersion } = dependencies;
  const stop = ({ before }: UpgradeRecord) =>
    stopNode({ withinMs: settings.restart.timeoutMs, before: before.process }, dependencies);
  const start = async (side: "from" | "to", record: UpgradeRecord, isResumed: boolean) => {
    await readConfig();
    const outcome = await proveVersion({ ...buildProof(side, record, settings), isResumed }, dependencies);
    await observeVersion();
    return outcome;
  };
  /**
   * Guards a step: a supervisor, or a reboot while the sidecar was down, may have started the node since it was stopped. In that case the
   * step touches nothing.
   */
  const requireStopped =
    (step: (record: UpgradeRecord) => Promise<StageOutcome>) =>
    async (record: UpgradeRecord): Promise<StageOutcome> =>
      (await isStopped(dependencies)) ? step(record) : { kind: "failed", why: startedMeanwhile };
  return {
    "pre-copying": async (record, { amend }) => {
      await copyRunningStores(record, { timeoutMs: settings.upgrade.preCopyTimeoutMs, signal }, dependencies);
      const { before, ...outcome } = await dependencies.waitForStop(record);
      // If the upgrade was cancelled in the meantime, the record has changed.
      if (before !== undefined && !signal.aborted) await amend({ before });
      return outcome;
    },
    "giving-up": (record) => removeWork(record, signal),
    stopping: stop,
    copying: requireStopped(async (record) => {
      if (record.restoredFrom !== undefined) {
        await keepConfig(record, dependencies);
        await copySnapshot(
          record,
          { method: record.method, timeoutMs: settings.upgrade.copyTimeoutMs, signal },
          dependencies,
        );
        return done;
      }
      await keepPrograms(record.files, record.binDirectory, locateKeptPrograms(record));
      await keepConfig(record, dependencies);
      await copyData(record, dependencies);
      // If a supervisor has started the node in the meantime, the copy is invalid.
      if (await isStopped(dependencies)) return done;
      for (const store of record.stores) await removeCopy(store);
      return { kind: "failed", why: startedMeanwhile };
    }),
    installing: requireStopped(async ({ files, source, binDirectory, stores, restoredFrom }) => {
      if (restoredFrom !== undefined) for (const store of stores) await putStoreBack(store);
      await installPrograms(files, source, binDirectory);
      return done;
    }),
    migrating: (record) => migrateConfig(record, dependencies),
    proving: (record, { isResumed }) => start("to", record, isResumed),
    cleaning: (record) => removeUnlessKept(record),
    "back-stopping": stop,
    "back-programs": requireStopped(async (record) => {
      await putProgramsBack(record.files, record.binDirectory, locateKeptPrograms(record));
      return done;
    }),
    "back-config": (record) => putConfigBack(record, dependencies),
    "back-data": requireStopped(async ({ stores, restoredFrom }) => {
      for (const store of stores) await (restoredFrom === undefined ? putStoreBack(store) : revertRestore(store));
      return done;
    }),
    // If the new version never ran on the data, it is still the old data.
    "back-discarding": async ({ stores }) => {
      for (const store of stores) await removeCopy(store);
      return done;
    },
    "back-proving": (record, { isResumed }) => start("from", record, isResumed),
  };
}

/** Builds the verification for one side of an upgrade: its version, its commit, and the content of its programs. */
function buildProof(
  side: "from" | "to",
  record: UpgradeRecord,
  {
    restart,
    node: { clientName },
    nodeCli: { command: toolCommand },
  }: Pick<UpgradeStepsDependencies["settings"], "restart" | "node" | "nodeCli">,
): Omit<ProofOptions, "isResumed"> {
  const { before, commits, files, binDirectory } = record;
  const wanted = { version: parseNodeVersion(record[side]), commit: commits?.[side] };
  const findOther = async () =>
    findOtherFile(side === "to" ? files : await hashFiles(files, locateKeptPrograms(record)), binDirectory);
  return { ...restart, wanted, findOther, before, clientName, toolCommand };
}

function copyData(
  record: UpgradeRecord,
  dependencies: Pick<UpgradeStepsDependencies, "settings" | "signal" | "clock" | "boot">,
): Promise<void> {
  const { settings, signal } = dependencies;
  const options = { timeoutMs: settings.upgrade.copyTimeoutMs, signal };
  const { method, stores } = record;
  if (method === "rsync") return finishCopies(record, options, dependencies);
  return copyStores(stores, { method, ...options }, dependencies);
}

const startedMeanwhile =
  "the node was started by somebody else while it had to stand still; stop what starts it (a supervisor?) for the time of the upgrade";

function locateKeptPrograms({ directory }: UpgradeRecord): string {
  return join(directory, "programs");
}

/** Kills any copying processes that an earlier sidecar left in the work directories, and removes the directories. */
async function removeWork(record: UpgradeRecord, signal: AbortSignal): Promise<StageOutcome> {
  const directories = listUpgradeDirectories(record);
  try {
    for (const directory of directories) {
      await endWritersOf(directory, signal);
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
    return done;
  } catch (error) {
    const remove = `rm -r -- ${directories.map(quoteShellWord).join(" ")}`;
    return {
      kind: "failed",
      why: `what was copied could not be removed (${(error as Error).message}); remove it: ${remove}`,
    };
  }
}

async function removeUnlessKept(record: UpgradeRecord): Promise<StageOutcome> {
  const directories = listUpgradeDirectories(record);
  if (record.keepsCopy) {
    const them = directories.length === 1 ? "it" : "them";
    const what = record.restoredFrom === undefined ? `, and the programs of ${record.from},` : "";
    const note = `The old data${what} stay in ${directories.join(" and ")} until you remove ${them}.`;
    return { kind: "done", note };
  }
  for (const directory of directories) await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  return done;
}
