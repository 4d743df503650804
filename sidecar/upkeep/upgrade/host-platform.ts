import { rm } from "node:fs/promises";
import type { Logger } from "#daemon/log/log.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import type { ObservedConfig } from "../config/config-observation.ts";
import type { NodeLocation } from "../config/node-location.ts";
import type { ObservedRestarts } from "../restart/restart-observation.ts";
import { firstNewVersionStage, listUpgradeDirectories, type UpgradeRecord } from "../state/upgrade-record.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import { keepConfig, migrateConfig, restoreConfig, type ConfigStepDependencies } from "./config-for-version.ts";
import { copyStores, restoreStore, removeCopy } from "./data/data-copy.ts";
import { UpgradeError } from "../../upgrade/progress.ts";
import { isStopped, stopNode, type StopStartDriver } from "./stop-and-start.ts";
import { installPrograms, keepPrograms, restorePrograms } from "./program-files.ts";
import { verifyVersion, type VerifyVersionDependencies, type UpgradeSide } from "./verify-version.ts";
import type { StageAction, UpgradePlatform } from "../../upgrade/run-upgrade.ts";

export type HostPlatformObservations = Readonly<{ config: ObservedConfig; restarts: ObservedRestarts }>;

export type HostPlatformDependencies = Omit<VerifyVersionDependencies, "driver" | "check" | "waitsFor" | "settings"> &
  ConfigStepDependencies &
  Readonly<{
    place: Pick<NodeLocation, "read">;
    state: Pick<UpkeepState, "atomically" | "nodeHas" | "startedWith" | "retry">;
    health: Pick<VerifyVersionDependencies, "check">;
    observer: Readonly<{ check: (signal: AbortSignal) => Promise<void> }>;
    wake: () => void;
    log: Logger;
  }>;

export function createHostPlatform(
  driver: StopStartDriver,
  seen: HostPlatformObservations,
  dependencies: HostPlatformDependencies,
): UpgradePlatform<UpgradeRecord> {
  const { settings, observer, wake, log, signal } = dependencies;
  const waitsFor = (stage: string | undefined) => {
    seen.restarts.note({ stage });
    wake();
  };
  const power = { ...dependencies, driver, check: dependencies.health.check, waitsFor };
  const stop = ({ before }: UpgradeRecord) => stopNode(settings.restart.timeoutMs, before.process, power);
  const start =
    (side: UpgradeSide): StageAction<UpgradeRecord> =>
    async (record, { isResumed }) => {
      await noteConfig(seen, dependencies);
      try {
        await verifyVersion(side, record, isResumed, power);
      } finally {
        // If the previous version were still recorded once the upgrade ends, node.conf would be changed back.
        await observer
          .check(signal)
          .catch((error: unknown) =>
            log.error({ event: "node-cli-check-failed", err: error }, "running node_cli after an upgrade failed"),
          );
      }
    };
  return {
    touches: firstNewVersionStage,
    requireStill: async () => {
      if (await isStopped(power)) return;
      throw new UpgradeError(
        "something started the node while it had to stay stopped; stop what starts it (a supervisor?) during the upgrade",
      );
    },
    stages: {
      stopping: stop,
      copying: async (record) => {
        await keepPrograms(record);
        await keepConfig(record, dependencies);
        await copyStores(record.stores, { timeoutMs: settings.upgrade.copyTimeoutMs, signal }, dependencies);
      },
      installing: async (record) => {
        await installPrograms(record);
        await migrateConfig(record, dependencies);
      },
      proving: start("to"),
      cleaning: cleanUp,
      "back-stopping": stop,
      "back-installing": async (record) => {
        await restorePrograms(record);
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

const cleanUp: StageAction<UpgradeRecord> = async (record, { amend }) => {
  const directories = listUpgradeDirectories(record);
  if (record.keepsCopy) {
    const them = directories.length === 1 ? "it" : "them";
    const note = `The old data, and the programs of ${record.from}, stay in ${directories.join(" and ")} until you remove ${them}.`;
    return amend({ note });
  }
  for (const directory of directories) await rm(directory, { recursive: true, force: true, maxRetries: 5 });
};

async function noteConfig(
  { config }: HostPlatformObservations,
  { place, state }: Pick<HostPlatformDependencies, "place" | "state">,
): Promise<void> {
  const reading = await place.read();
  if (!reading.ok) throw new UpgradeError(reading.problem.message);
  config.note({ document: reading.document });
  state.atomically(() => {
    state.nodeHas.set(fingerprintConfig(reading.document));
    state.startedWith.set(undefined);
    state.retry.set(undefined);
  });
}
