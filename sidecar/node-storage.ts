import type { Registry } from "prom-client";
import type { Clock } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import { type DiskCheck, watchDisk } from "#health/disk-watch.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { createFileDeadline } from "#daemon/files/file-deadline.ts";
import type { SidecarSettings } from "./settings.ts";
import type { UpkeepState } from "./upkeep/state/upkeep-state.ts";
import type { Upkeep } from "./upkeep/upkeep.ts";
import { createKubernetesApi } from "./upkeep/drivers/kubernetes-api.ts";
import { createVolumeClaim } from "./volume/volume-claim.ts";
import { measureFreeRatio, watchVolume } from "./volume/volume-watch.ts";

export type NodeStorageDependencies = Readonly<{
  /** Provides the data directory, and whether changes are allowed now. */
  upkeep: Pick<Upkeep, "dataPath" | "mayAct">;
  state: UpkeepState;
  board: ConditionBoard;
  onLook?: (look: DiskCheck) => void;
  events: EventLog;
  metrics: Registry;
  clock: Clock;
  log: Logger;
}>;

/** Watches the disk that holds the node's data and, if a claim is set, grows its volume. Disposing of the result stops both watches. */
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
      // The cluster client must outlive the watch that uses it.
      await resources.disposeAsync();
    },
  };
}

/** Watches the node's volume if a claim is set. The result settles once the watch has stopped; without a claim, it is undefined. */
function watchNodeVolume(
  { volume, kubernetes, restart, upkeep }: Pick<SidecarSettings, "volume" | "kubernetes" | "restart" | "upkeep">,
  dependencies: Readonly<{
    dataPath: () => string | undefined;
    /** Whether the sidecar may make changes now: growing a volume is irreversible. */
    mayAct: () => boolean;
    /** Time at which the volume last grew, persisted across sidecar restarts. */
    grownAt: Readonly<{ get: () => number | undefined; set: (atMs: number | undefined) => void }>;
    board: ConditionBoard;
    events: EventLog;
    metrics: Registry;
    clock: Clock;
    log: Logger;
    signal: AbortSignal;
    resources: AsyncDisposableStack;
  }>,
): Promise<void> | undefined {
  if (volume.claim === undefined) return undefined;
  const { dataPath, signal, resources } = dependencies;
  const api = resources.use(createKubernetesApi({ ...kubernetes, timeoutMs: restart.timeoutMs }));
  const fileDeadline = createFileDeadline(
    { withinMs: upkeep.fileTimeoutMs, signal },
    { clock: dependencies.clock, onBack: () => undefined },
  );
  const freeRatio = () => measureFreeRatio(dataPath(), fileDeadline);
  return watchVolume(
    { ...volume, signal },
    { ...dependencies, claim: createVolumeClaim(volume.claim, api), freeRatio },
  );
}
