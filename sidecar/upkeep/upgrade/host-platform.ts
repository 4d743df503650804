import { rm } from "node:fs/promises";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { firstNewVersionStage, listUpgradeDirectories, type UpgradeRecord } from "../state/upgrade-record.ts";
import { keepConfig, migrateConfig, restoreConfig } from "./config-for-version.ts";
import { copyStores, restoreStore, removeCopy } from "./data/data-copy.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { isStopped, stopNode, type StopStartContext } from "./stop-and-start.ts";
import { installPrograms, keepPrograms, restorePrograms } from "./program-files.ts";
import type { UpgradeContext } from "./upgrade-context.ts";
import { verifyVersion, type UpgradeSide } from "./verify-version.ts";
import type { StageAction, UpgradePlatform } from "../../upgrade/run-upgrade.ts";

export function createHostPlatform(context: StopStartContext): UpgradePlatform<UpgradeRecord> {
  const { settings, observer, log, signal } = context;
  const stop = ({ before }: UpgradeRecord) => stopNode(before.process, context);
  const start =
    (side: UpgradeSide): StageAction<UpgradeRecord> =>
    async (record, { isResumed }) => {
      await noteConfig(context);
      try {
        await verifyVersion(side, record, isResumed, context);
      } finally {
        // If the previous version were still recorded after the upgrade, node.conf would be changed back.
        await observer
          .check(signal)
          .catch((error: unknown) =>
            log.error({ event: "node-cli-check-failed", err: error }, "running node_cli after an upgrade failed"),
          );
      }
    };
  return {
    touches: firstNewVersionStage,
    requireUnchanged: async () => {
      if (await isStopped(context)) return;
      throw new UpgradeError(
        "something started the node while it had to stay stopped; disable whatever starts it (a supervisor?) during the upgrade",
      );
    },
    stages: {
      stopping: stop,
      copying: async (record) => {
        await keepPrograms(record);
        await keepConfig(record, context);
        await copyStores(record.stores, { timeoutMs: settings.upgrade.copyTimeoutMs, signal }, context);
      },
      installing: async (record) => {
        await installPrograms(record);
        await migrateConfig(record, context);
      },
      proving: start("to"),
      cleaning: cleanUp,
      "back-stopping": stop,
      "back-installing": async (record) => {
        await restorePrograms(record);
        await restoreConfig(record, context);
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

const cleanUp: StageAction<UpgradeRecord> = async (record, { amend }) => {
  const directories = listUpgradeDirectories(record);
  if (record.keepsCopy) {
    const them = directories.length === 1 ? "it" : "them";
    const note = `The old data, and the binaries of ${record.from}, stay in ${directories.join(" and ")} until you remove ${them}.`;
    return amend({ note });
  }
  for (const directory of directories) await rm(directory, { recursive: true, force: true, maxRetries: 5 });
};

async function noteConfig({ place, state, config }: UpgradeContext): Promise<void> {
  const reading = await place.read();
  if (!reading.ok) throw new UpgradeError(reading.problem.message);
  config.note({ document: reading.document });
  state.atomically(() => {
    state.nodeHas.set(fingerprintConfig(reading.document));
    state.startedWith.set(undefined);
    state.retry.set(undefined);
  });
}
