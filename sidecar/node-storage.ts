import type { Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type DiskCheck, watchDisk } from "#health/disk-watch.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "./settings.ts";
import type { UpkeepState } from "./upkeep/state/upkeep-state.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";
import { createKubernetesApi } from "./upkeep/drivers/kubernetes-api.ts";
import { createVolumeClaim } from "./volume/volume-claim.ts";
import { createVolumeGrowth } from "./volume/volume-growth.ts";

export type NodeStorageDependencies = Readonly<{
  /** Provides the data directory, and whether changes are allowed now, because growing a volume is irreversible. */
  upkeep: Pick<Upkeep, "dataPath" | "mayAct">;
  state: UpkeepState;
  board: ConditionBoard;
  onCheck?: (check: DiskCheck) => void;
  events: EventLog;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/** Watches the disk with the node's data and, if a claim is set, grows its volume. Disposing of the result stops the watch. */
export function watchNodeStorage(settings: SidecarSettings, dependencies: NodeStorageDependencies): AsyncDisposable {
  const { upkeep, state, ...shared } = dependencies;
  const { health, volume, kubernetes, restart } = settings;
  const stopController = new AbortController();
  const resources = new AsyncDisposableStack();
  const openGrowth = (claim: string) => {
    const api = resources.use(createKubernetesApi({ ...kubernetes, timeoutMs: restart.timeoutMs }));
    const grownAt = state.volumeGrownAtMs;
    return createVolumeGrowth(volume, {
      ...shared,
      mayAct: upkeep.mayAct,
      grownAt,
      claim: createVolumeClaim(claim, api),
    });
  };
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
      grow: volume.claim === undefined ? undefined : openGrowth(volume.claim),
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
