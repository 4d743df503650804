import type { Clock, ClockReading } from "#daemon/clock.ts";
import type { Logger } from "#daemon/log/log.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { EventLog } from "#status/event-log.ts";
import type { SidecarSettings } from "../../settings.ts";
import type { UpkeepState } from "../state/upkeep-state.ts";
import type { UpkeepMetrics } from "../upkeep-metrics.ts";
import type { ObservedConfig } from "./config-observation.ts";
import type { ConfigVersions } from "./config-versions.ts";
import type { CorrectionRate, EditRate } from "./correction-rate.ts";
import type { NodeLocation } from "./node-location.ts";

/** The parts of the upkeep that the steps about node.conf use (`createUpkeepParts`). */
export type ConfigContext = Readonly<{
  settings: SidecarSettings;
  config: ObservedConfig;
  place: NodeLocation;
  versions: ConfigVersions;
  state: UpkeepState;
  rate: CorrectionRate;
  edits: EditRate;
  /** Start and end of the last restart (monotonic). */
  budget: Readonly<{ last: () => Readonly<{ beganMs: number; endedMs: number | undefined }> | undefined }>;
  isRestarting: () => boolean;
  health: HealthWatch;
  events: EventLog;
  metrics: UpkeepMetrics;
  clock: Clock;
  clockAtStart: ClockReading;
  log: Logger;
}>;
