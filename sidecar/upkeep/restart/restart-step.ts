import type { NodeVersion } from "#node/versions.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { ConfigReading } from "../config/config-file.ts";
import {
  applyRestart,
  type ApplyRestartDependencies,
  type ApplyRestartSeen,
  type RestartRequest,
} from "./apply-restart.ts";
import { isUnread } from "./restart-observation.ts";
import { recordRollback } from "./roll-back.ts";
import { recordRunningConfig, type RunningConfigDependencies } from "./running-config.ts";

/** Reconcile steps for the node's process. */
export type RestartStep = Readonly<{
  /** Name of the driver, for messages. */
  driverName: string;
  /** Forgets the start that the last iteration found for the node, so that this iteration queries it again. */
  forgetCheck: () => void;
  /** Retains the node.conf with which the node runs, for a rollback, before any change is made. */
  remember: (reading: ConfigReading, version: NodeVersion | undefined) => Promise<void>;
  /** Starts a restart if one is due and allowed. */
  apply: (request: RestartRequest) => Promise<Readonly<{ wakeInMs?: number }>>;
}>;

export type RestartStepDependencies = ApplyRestartDependencies &
  RunningConfigDependencies &
  Parameters<typeof recordRollback>[2] &
  Readonly<{ settings: SidecarSettings }>;

export function createRestartStep(
  { config, process, restarts }: ApplyRestartSeen,
  dependencies: RestartStepDependencies,
): RestartStep {
  const { settings, driver, health } = dependencies;
  return {
    driverName: driver?.name ?? "none",
    forgetCheck: () => process.note({ started: undefined }),
    remember: async (reading, version) => {
      const { contentHash } = config.now();
      await recordRunningConfig(reading, version, { config: config.now(), process, restarts }, dependencies);
      const isDone = driver !== undefined && settings.upkeep.mode !== "observe";
      const isUnreadNow = isUnread(process.now(), contentHash);
      await recordRollback({ restarts: isDone, isUnread: isUnreadNow, facts: health.facts() }, restarts, dependencies);
    },
    apply: (request) => applyRestart(request, { config, process, restarts }, dependencies),
  };
}
