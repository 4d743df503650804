import type { Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type DiskCheck, watchDisk } from "#health/disk-watch.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "./settings.ts";
import type { UpkeepState } from "./upkeep/state/upkeep-state.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";

export type NodeStorageDependencies = Readonly<{
  /** Provides the data directory, and whether changes are allowed now, because growing a volume is irreversible. */
  upkeep: Pick<Upkeep, "dataPath" | "mayAct">;
  state: UpkeepState;
  board: ConditionBoard;
  onCheck: (check: DiskCheck) => void;
  events: EventLog;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/**
 * Watches the disk with the node's data and, if a claim is set, grows its volume; that code is loaded only with a claim. Disposing of the
 * result stops the watch.
 */
export async function watchNodeStorage(
  settings: SidecarSettings,
  dependencies: NodeStorageDependencies,
): Promise<AsyncDisposable> {
  const { upkeep, state, ...shared } = dependencies;
  const { health, volume, kubernetes, restart } = settings;
  const stopController = new AbortController();
  const resources = new AsyncDisposableStack();
  const openGrowth = async (claim: string) => {
    const { createKubernetesApi } = await import("./upkeep/drivers/kubernetes-api.ts");
    const { createVolumeClaim } = await import("./volume/volume-claim.ts");
    const { createVolumeGrowth } = await import("./volume/volume-growth.ts");
    const api = resources.use(createKubernetesApi({ ...kubernetes, timeoutMs: restart.timeoutMs }));
    const grownAt = state.volumeGrownAtMs;
    return createVolumeGrowth(volume, {
      ...shared,
      mayAct: upkeep.mayAct,
      grownAt,
      claim: createVolumeClaim(claim, api),
    });
  };
  const grow = volume.claim === undefined ? undefined : await openGrowth(volume.claim);
  const diskWatch = watchDisk(
    {
      freeRatio: health.diskFreeRatio,
      fullWithinSeconds: health.diskFullWithinSeconds,
      forecastAfterSeconds: health.diskForecastAfterSeconds,
      fileTimeoutMs: settings.upkeep.fileTimeoutMs,
      intervalMs: volume.intervalMs,
      signal: stopController.signal,
    },
    {
      ...shared,
      dataPath: upkeep.dataPath,
      history: state.diskHistory,
      grow,
    },
  );
  return {
    [Symbol.asyncDispose]: async () => {
      stopController.abort();
      await diskWatch;
      // The cluster client must outlive the watch that uses it.
      await resources.disposeAsync();
    },
  };
}
