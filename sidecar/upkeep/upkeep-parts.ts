import type { Registry } from "prom-client";
import type { Logger } from "#daemon/log.ts";
import type { ServiceContext } from "#daemon/service.ts";
import type { Clock } from "#daemon/clock.ts";
import type { ClockThen } from "./clock-then.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import type { SidecarSettings } from "../settings.ts";
import type { Charts } from "#status/charts.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import type { ConditionReport } from "#status/condition.ts";
import type { EventLog } from "#status/event-log.ts";
import type { ConfigVersions } from "./config/config-versions.ts";
import type { CorrectionRate } from "./config/correction-rate.ts";
import type { MaintenanceWindow } from "./restart/maintenance-window.ts";
import type { NodeBegan, NodeDriver, NodeStart } from "./drivers/driver.ts";
import type { ConfigDocument } from "#node/conf/document.ts";
import type { ConfigProblemReason } from "#node/conf/problem.ts";
import type { NodeCli } from "./drivers/node-cli.ts";
import type { NodePlace } from "./config/node-place.ts";
import type { NodeObserver } from "./version/node-observer.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { PruneProgress } from "./prune/prune-progress.ts";
import type { PushWatch } from "./pushgateway/push-watch.ts";
import type { RestartBudget } from "./restart/restart-budget.ts";
import type { HealthyProof, UpkeepState } from "./state/upkeep-state.ts";
import type { CommandWords } from "./command-words.ts";
import type { FileDeadline } from "#daemon/files/file-deadline.ts";
import type { Silence } from "./restart/silence.ts";
import type { PlanView } from "./plan/plan-view.ts";
import type { UpkeepMetrics } from "./upkeep-metrics.ts";

/** What the steps of a pass work with. */
export type UpkeepParts = Readonly<{
  settings: SidecarSettings;
  place: NodePlace;
  health: HealthWatch;
  observer: NodeObserver;
  nodeCli: NodeCli | undefined;
  /** Absent when the node may not be restarted. */
  driver: NodeDriver | undefined;
  /** Asks for the node's last push, when it is checked. */
  lastPush: PushWatch["lastPush"] | undefined;
  state: UpkeepState;
  /** For calls of the file system that the state is on. */
  stateDeadline: FileDeadline;
  versions: ConfigVersions;
  budget: RestartBudget;
  window: MaintenanceWindow;
  rate: CorrectionRate;
  board: ConditionBoard;
  events: EventLog;
  charts: Charts;
  metrics: UpkeepMetrics;
  registry: Registry;
  /** The commands that change this sidecar, as a person here types them. */
  command: CommandWords;
  clock: Clock;
  /** Both clocks when the upkeep began. */
  clockThen: ClockThen;
  log: Logger;
  /** Aborts when the sidecar stops. */
  signal: AbortSignal;
  wake: () => void;
  finishes: ServiceContext["finishes"];
}>;

/** What was told when it was asked whether the node began with a content. */
type StartAsked = Readonly<{
  contentHash: string;
  startedAfterMs: number | undefined;
  atMs: number;
  /** Absent until it is told. */
  began?: NodeBegan;
}>;

/** What one pass leaves for the next; lost when the sidecar ends, which only costs time. */
export type UpkeepMemory = {
  /** The version that the last pass saw, as it was told. */
  version: string | undefined;
  /** What node.conf held at the last pass, and since when (monotonic). */
  contentHash: string | undefined;
  contentSinceMs: number;
  /** When node.conf was last looked at, and when it was last seen with another content (wall clock). */
  lookedAtMs: number | undefined;
  otherAtMs: number;
  /** What was wrong with it then: contents that can't be read all have no hash. */
  problemReason: ConfigProblemReason | undefined;
  /** Whether the node's version is not known, and node.conf is right for a node of some version. */
  mayTellVersion: boolean;
  /** What was last found of node.conf beside what is desired. */
  configCurrent: ConditionReport<"ConfigCurrent"> | undefined;
  /** The last document that could be used. */
  document: ConfigDocument | undefined;
  /** Meaning of what the node had read before node.conf drifted, and when that was (wall clock); then it is not known. */
  previousMeaning: Readonly<{ meaning: string; untilMs: number }> | undefined;
  pruneProgress: PruneProgress | undefined;
  /** PruneInfo that the chart last got, so that each query is one point of it. */
  chartedPruneInfo: PruneInfo | undefined;
  /** Content that was last remembered as good. */
  goodHash: string | undefined;
  /** Why what is right now could not be remembered as good, and what to do. */
  goodNotKept: string | undefined;
  /** What the last correction of node.conf changed, in words. */
  corrected: readonly string[];
  /** What is remembered to go back to; looked up when absent. `failedUntilMs` (monotonic): it could not be kept, and is tried again then. */
  kept: Readonly<{ hash?: string; proof?: HealthyProof; failedUntilMs?: number }> | undefined;
  /** What node.conf held when it could last be used. */
  stood: Readonly<{ contentHash: string; bytes: Uint8Array }> | undefined;
  /** The content in force, and the height at which it was first seen so. */
  advancing: Readonly<{ contentHash: string; height: number | undefined }> | undefined;
  /** When it was last asked (monotonic) since when the node runs, for a content and a start that was seen. */
  startAsked: StartAsked | undefined;
  /** When the node started, as its driver told in this pass. */
  started: Promise<NodeStart> | undefined;
  /** What `restart.checkCommand` said of a content. */
  checked: Readonly<{ contentHash: string; refusal: string | undefined }> | undefined;
  /** PruneInfo on which auto-pruning was last switched on, so that each is acted on once. */
  prunedOn: PruneInfo | undefined;
  /** Since when the node has been unwell (`HealthWatch.ranMs`). */
  unwellSinceMs: number | undefined;
  /** That the node has not answered. */
  silence: Silence | undefined;
  /** Whether the node's process was seen while it answered: one that is not seen any more has ended. */
  processWasSeen: boolean;
  /** Since when (wall clock) no process of a node that answered last is seen. */
  processMissedAtMs: number | undefined;
  /** Until when a silent node may still be starting (wall clock). */
  startingUntilMs: number | undefined;
  /** What the restart that runs waits for, and until when. */
  restartStage: string | undefined;
  restart: Promise<void> | undefined;
  /** What the pass that runs does now, as in "reading node.conf". */
  step: string;
  pruning: Promise<void> | undefined;
  /** What is to be done, as a person was last shown it. */
  plan: PlanView | undefined;
  /** Whether a whole pass was made. */
  passed: boolean;
};
