import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log.ts";
import type { Clock } from "#daemon/clock.ts";
import type { SidecarSettings } from "../settings.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { EventLog } from "#status/event-log.ts";
import { kubernetesApi } from "../upkeep/drivers/kubernetes-api.ts";
import { volumeClaim } from "./volume-claim.ts";
import { freeRatioOf, watchVolume } from "./volume-watch.ts";

/** Watches the node's volume where a claim is named; settles when the watch has ended, undefined where there is none. */
export function watchNodeVolume(
  { volume, kubernetes, restart }: Pick<SidecarSettings, "volume" | "kubernetes" | "restart">,
  dependencies: Readonly<{
    dataPath: () => string | undefined;
    /** Whether the sidecar may change anything now: a volume never shrinks again. */
    mayAct: () => boolean;
    /** When the volume was last grown, kept over restarts of the sidecar. */
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
  const api = resources.use(kubernetesApi({ ...kubernetes, timeoutMs: restart.timeoutMs }));
  const freeRatio = async () => {
    const path = dataPath();
    return path === undefined ? undefined : freeRatioOf(path);
  };
  return watchVolume({ ...volume, signal }, { ...dependencies, claim: volumeClaim(volume.claim, api), freeRatio });
}
