import { join } from "node:path";
import { rm } from "node:fs/promises";
import { parseNodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import { hostTouches, listUpgradeDirectories, type UpgradeRecord } from "../state/upgrade-record.ts";
import { keepConfig, migrateConfig, restoreConfig, type ConfigStepDependencies } from "./config-for-version.ts";
import { copyStores, restoreStore, removeCopy } from "./data/data-copy.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { isStopped, stopNode } from "./node-power.ts";
import { findOtherFile, hashFiles, installPrograms, keepPrograms, restorePrograms } from "./program-files.ts";
import { proveVersion, type ProofDependencies, type ProofOptions } from "./prove-version.ts";
import type { StageAction, UpgradePlatform } from "../../upgrade/run-upgrade.ts";

export type HostPlatformDependencies = ProofDependencies &
  ConfigStepDependencies &
  Readonly<{
    settings: Pick<SidecarSettings, "restart" | "node" | "nodeCli"> &
      Readonly<{ upgrade: Pick<SidecarSettings["upgrade"], "copyTimeoutMs"> }>;
    /** Called when node.conf may have changed, before the node is verified with it. */
    readConfig: () => Promise<void>;
    /** Called once a version has started, before the upgrade ends. If the previous version were still recorded, node.conf would be changed back. */
    observeVersion: () => Promise<void>;
  }>;

/** Creates the platform for a node whose programs and data are on this machine. */
export function createHostPlatform(dependencies: HostPlatformDependencies): UpgradePlatform<UpgradeRecord> {
  const { settings, signal, readConfig, observeVersion } = dependencies;
  const stop = ({ before }: UpgradeRecord) =>
    stopNode({ withinMs: settings.restart.timeoutMs, before: before.process }, dependencies);
  const start =
    (side: "from" | "to"): StageAction<UpgradeRecord> =>
    async (record, { isResumed }) => {
      await readConfig();
      try {
        await proveVersion({ ...buildProof(side, record, settings), isResumed }, dependencies);
      } finally {
        await observeVersion();
      }
    };
  return {
    touches: hostTouches,
    requireStill: async () => {
      if (!(await isStopped(dependencies))) throw new UpgradeError(startedMeanwhile);
    },
    stages: {
      stopping: stop,
      copying: async (record) => {
        const limit = { timeoutMs: settings.upgrade.copyTimeoutMs, signal };
        await keepPrograms(record.files, record.binDirectory, locateKeptPrograms(record));
        await keepConfig(record, dependencies);
        await copyStores(record.stores, limit, dependencies);
      },
      // With its final node.conf, as the upkeep would change it once the node responds.
      installing: async (record) => {
        await installPrograms(record.files, record.source, record.binDirectory);
        await migrateConfig(record, dependencies);
      },
      proving: start("to"),
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
      "back-installing": async (record) => {
        await restorePrograms(record.files, record.binDirectory, locateKeptPrograms(record));
        await restoreConfig(record, dependencies);
      },
      "back-data": async ({ stores }) => {
        for (const store of stores) await restoreStore(store);
      },
      "back-proving": start("from"),
      "back-discarding": async ({ stores }) => {
        for (const store of stores) await removeCopy(store);
      },
      "back-restarting": start("from"),
    },
  };
}

/** Builds the verification for one side of an upgrade: its version, its commit, and the content of its programs. */
function buildProof(
  side: "from" | "to",
  record: UpgradeRecord,
  { restart, node, nodeCli }: HostPlatformDependencies["settings"],
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
