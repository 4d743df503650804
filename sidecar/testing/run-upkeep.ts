import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { AuditEntry } from "#daemon/audit/audit-entry.ts";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { systemClock, type Clock } from "#daemon/clock.ts";
import { startHealth } from "#health/health.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { readUntil } from "#daemon/testing/until.ts";
import { watchNodeStorage } from "../node-storage.ts";
import { sidecarSettings } from "../settings.ts";
import { createCharts } from "#status/charts.ts";
import { createConditionBoard, type ConditionBoard } from "#status/condition-board.ts";
import type { Condition, ConditionType } from "#status/condition.ts";
import type { EventLog } from "#status/event-log.ts";
import { auditEvents, createStoredEventLog } from "../upkeep/state/stored-event-log.ts";
import { listenForControl } from "../upkeep/control/listen-control.ts";
import { openUpkeepState, type UpkeepState } from "../upkeep/state/upkeep-state.ts";
import { startUpkeep, type Upkeep } from "../upkeep/upkeep.ts";
import type { FakeNode } from "./fake-node.ts";
import { testProfile } from "./node-profile.ts";

/** A node's upkeep as the sidecar composes it, without listeners. */
export type RunningUpkeep = AsyncDisposable &
  Readonly<{
    board: ConditionBoard;
    events: EventLog;
    /** Lines of `change-made`, in order. */
    audited: readonly AuditEntry[];
    state: UpkeepState;
    upkeep: Upkeep;
    metrics: Registry;
    stateDirectory: string;
    /** Counts how often node.conf was corrected. */
    corrections: () => Promise<number>;
    /** Waits until this many more iterations have completed. */
    passes: (count: number) => Promise<void>;
    /** Waits until a condition has the given reason; after the deadline, fails with a list of all conditions. */
    reason: (type: ConditionType, reason: string, withinMs?: number) => Promise<Condition>;
  }>;

/** Starts the upkeep for a fake node, with short intervals. `environment` uses the names of the real settings. */
export async function runUpkeep(
  node: Pick<FakeNode, "workspace" | "httpUrl">,
  environment: Environment = {},
  options: Readonly<{ stateDirectory?: string; clock?: Clock }> = {},
): Promise<RunningUpkeep> {
  const stateDirectory = options.stateDirectory ?? (await mkdtemp(join(tmpdir(), "gatehouse-state-")));
  const clock = options.clock ?? systemClock;
  const settings = readWithConstants(sidecarSettings, {
    GATEHOUSE_SIDECAR_NODE_WORKSPACE: node.workspace,
    GATEHOUSE_SIDECAR_NODE_HTTP_URL: node.httpUrl,
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
    GATEHOUSE_SIDECAR_UPKEEP_MODE: "enforce",
    GATEHOUSE_SIDECAR_HEALTH_WEB_SOCKET: "false",
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
    GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "1000",
    GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "5000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "2500",
    GATEHOUSE_SIDECAR_RESTART_SETTLE_MS: "50",
    // A node of this family reports only the commit of its programs.
    ...(testProfile === "pharos" ? { GATEHOUSE_SIDECAR_NODE_VERSION: "0.16.2" } : {}),
    ...environment,
  });
  const log = pino({ level: process.env["GATEHOUSE_TEST_LOG"] ?? "silent" });
  const metrics = new Registry();
  const state = openUpkeepState(stateDirectory);
  const audited: AuditEntry[] = [];
  const events = auditEvents(createStoredEventLog(state.store, clock), { add: (entry) => void audited.push(entry) });
  const board = createConditionBoard({ log, metrics, clock, events });
  const charts = createCharts();
  const eventLoop = { lateMs: () => 0, [Symbol.dispose]: () => undefined };
  const health = startHealth(settings, { log, metrics, clock, send: sendRequest, board, charts, eventLoop });
  const dependencies = { log, metrics, clock, send: sendRequest, state, events, board, charts, health };
  const upkeep = startUpkeep(settings, { ...dependencies, listedCommits: () => ({}), finishes: () => undefined });
  const storage = watchNodeStorage(settings, { ...dependencies, upkeep });
  const control = await listenForControl(stateDirectory, upkeep.control, { log, mask: createMask() });
  const reason = async (type: ConditionType, wanted: string, withinMs = 40_000) => {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const condition = board.get(type);
      if (condition?.reason === wanted) return condition;
      if (performance.now() > deadline) throw new Error(describe(type, wanted, board, events));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  return {
    board,
    events,
    audited,
    state,
    upkeep,
    metrics,
    stateDirectory,
    ...countIterations(metrics),
    reason,
    [Symbol.asyncDispose]: async () => {
      await control[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
      await upkeep[Symbol.asyncDispose]();
      await health[Symbol.asyncDispose]();
      state[Symbol.dispose]();
      if (options.stateDirectory === undefined) await rm(stateDirectory, { recursive: true, force: true });
    },
  };
}

function countIterations(metrics: Registry): Pick<RunningUpkeep, "corrections" | "passes"> {
  const read = async (name: string) => (await metrics.getSingleMetric(name)?.get())?.values[0]?.value ?? 0;
  const made = () => read("gatehouse_reconciles_total");
  return {
    corrections: () => read("gatehouse_node_config_corrections_total"),
    passes: async (count) => {
      const before = await made();
      await readUntil(made, (now) => now >= before + count);
    },
  };
}

function describe(type: ConditionType, wanted: string, board: ConditionBoard, events: EventLog): string {
  const all = board.list().map(({ type: name, reason, message }) => `${name} ${reason}: ${message}`);
  const last = events
    .list()
    .slice(0, 20)
    .map(({ message }) => message);
  return [`${type} did not become ${wanted}`, ...all, "events:", ...last].join("\n");
}
