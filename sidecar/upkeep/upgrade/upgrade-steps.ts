import { join } from "node:path";
import { rm } from "node:fs/promises";
import { parseNodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { listUpgradeDirectories, type UpgradeRecord } from "../state/upgrade-record.ts";
import { keepConfig, migrateConfig, restoreConfig, type ConfigStepDependencies } from "./config-for-version.ts";
import { copyStores, restoreStore, removeCopy } from "./data/data-copy.ts";
import { StageError } from "../../upgrade/next-stage.ts";
import { isStopped, stopNode } from "./node-power.ts";
import { findOtherFile, hashFiles, installPrograms, keepPrograms, restorePrograms } from "./program-files.ts";
import { proveVersion, type ProofDependencies, type ProofOptions } from "./prove-version.ts";
import type { StageSteps } from "../../upgrade/run-upgrade.ts";

export type UpgradeStepsDependencies = ProofDependencies &
  ConfigStepDependencies &
  Readonly<{
    settings: Pick<SidecarSettings, "restart" | "node" | "nodeCli"> &
      Readonly<{ upgrade: Pick<SidecarSettings["upgrade"], "copyTimeoutMs"> }>;
    /** Called when node.conf may have changed, before the node is verified with it. */
    readConfig: () => Promise<void>;
    /** Called once a version has started, before the upgrade ends. If the previous version were still recorded, node.conf would be changed back. */
    observeVersion: () => Promise<void>;
  }>;

/** Creates the steps for upgrading a node whose programs and data are on this machine. */
export function createUpgradeSteps(dependencies: UpgradeStepsDependencies): StageSteps<UpgradeRecord> {
  const { settings, signal, readConfig, observeVersion } = dependencies;
  const stop = ({ before }: UpgradeRecord) =>
    stopNode({ withinMs: settings.restart.timeoutMs, before: before.process }, dependencies);
  const start = async (side: "from" | "to", record: UpgradeRecord, isResumed: boolean) => {
    await readConfig();
    try {
      await proveVersion({ ...buildProof(side, record, settings), isResumed }, dependencies);
    } finally {
      await observeVersion();
    }
  };
  /**
   * Guards a step: a supervisor, or a reboot while the sidecar was down, may have started the node since it was stopped. In that case the
   * step touches nothing.
   */
  const requireStopped = (step: (record: UpgradeRecord) => Promise<void>) => async (record: UpgradeRecord) => {
    if (!(await isStopped(dependencies))) throw new StageError(startedMeanwhile);
    await step(record);
  };
  return {
    stopping: stop,
    copying: requireStopped(async (record) => {
      const limit = { timeoutMs: settings.upgrade.copyTimeoutMs, signal };
      await keepPrograms(record.files, record.binDirectory, locateKeptPrograms(record));
      await keepConfig(record, dependencies);
      await copyStores(record.stores, limit, dependencies);
      // If a supervisor has started the node in the meantime, the copy is invalid.
      if (await isStopped(dependencies)) return;
      await discardCopies(record);
      throw new StageError(startedMeanwhile);
    }),
    installing: requireStopped(({ files, source, binDirectory }) => installPrograms(files, source, binDirectory)),
    migrating: (record) => migrateConfig(record, dependencies),
    proving: (record, { isResumed }) => start("to", record, isResumed),
    cleaning: async (record, { amend }) => {
      const directories = listUpgradeDirectories(record);
      if (record.keepsCopy) {
        const them = directories.length === 1 ? "it" : "them";
        const note = `The old data, and the programs of ${record.from}, stay in ${directories.join(" and ")} until you remove ${them}.`;
        return amend({ note });
      }
      for (const directory of directories) await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
    "back-stopping": stop,
    "back-programs": requireStopped((record) =>
      restorePrograms(record.files, record.binDirectory, locateKeptPrograms(record)),
    ),
    "back-config": (record) => restoreConfig(record, dependencies),
    "back-data": requireStopped(async ({ stores }) => {
      for (const store of stores) await restoreStore(store);
    }),
    // If the new version never ran on the data, it is still the old data.
    "back-discarding": discardCopies,
    "back-proving": (record, { isResumed }) => start("from", record, isResumed),
  };
}

async function discardCopies({ stores }: UpgradeRecord): Promise<void> {
  for (const store of stores) await removeCopy(store);
}

/** Builds the verification for one side of an upgrade: its version, its commit, and the content of its programs. */
function buildProof(
  side: "from" | "to",
  record: UpgradeRecord,
  { restart, node, nodeCli }: UpgradeStepsDependencies["settings"],
): Omit<ProofOptions, "isResumed"> {
  const { before, commits, files, binDirectory } = record;
  const wanted = { version: parseNodeVersion(record[side]), commit: commits?.[side] };
  const findOther = async () =>
    findOtherFile(side === "to" ? files : await hashFiles(files, locateKeptPrograms(record)), binDirectory);
  return { ...restart, wanted, findOther, before, clientName: node.clientName, toolCommand: nodeCli.command };
}

const startedMeanwhile =
  "something started the node while it had to stay stopped; stop what starts it (a supervisor?) during the upgrade";

function locateKeptPrograms({ directory }: UpgradeRecord): string {
  return join(directory, "programs");
}
