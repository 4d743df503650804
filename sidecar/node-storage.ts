import type { Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log.ts";
import { watchDisk } from "#health/disk-watch.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "./settings.ts";
import type { UpkeepState } from "./upkeep/state/upkeep-state.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";
import { watchNodeVolume } from "./volume/node-volume.ts";

/** What the watches of the node's storage read and report to. */
export type NodeStorageDependencies = Readonly<{
  /** Knows the data directory, and whether anything may be changed now. */
  upkeep: Pick<Upkeep, "dataPath" | "mayAct">;
  state: UpkeepState;
  board: ConditionBoard;
  events: EventLog;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/** Watches the disk of the node's data and, where a claim is named, grows its volume. Disposing of it ends both watches. */
export function watchNodeStorage(settings: SidecarSettings, dependencies: NodeStorageDependencies): AsyncDisposable {
  const { upkeep, state, ...shared } = dependencies;
  const { dataPath, mayAct } = upkeep;
  const stopping = new AbortController();
  const { signal } = stopping;
  const resources = new AsyncDisposableStack();
  const { health } = settings;
  const disk = watchDisk(
    {
      freeRatio: health.diskFreeRatio,
      fullWithinSeconds: health.diskFullWithinSeconds,
      forecastAfterSeconds: health.diskForecastAfterSeconds,
      fileTimeoutMs: settings.upkeep.fileTimeoutMs,
      signal,
    },
    { ...shared, dataPath, history: state.diskHistory },
  );
  const grownAt = state.volumeGrownAtMs;
  const volume = watchNodeVolume(settings, { ...shared, dataPath, mayAct, grownAt, signal, resources });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await Promise.all([disk, volume]);
      // The cluster's client outlasts the watch that uses it.
      await resources.disposeAsync();
    },
  };
}
