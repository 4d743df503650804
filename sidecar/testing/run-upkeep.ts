import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { AuditEntry } from "#daemon/audit/audit-log.ts";
import { readWithConstants } from "#daemon/testing/read-with-constants.ts";
import type { Environment } from "#daemon/settings/environment.ts";
import { createMask } from "#daemon/secrets/mask.ts";
import { systemClock, type Clock } from "#daemon/clock.ts";
import { startHealth } from "#health/health.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { sendRequest } from "#daemon/http/send-request.ts";
import { generousMs, readUntil } from "#daemon/testing/until.ts";
import { watchNodeStorage } from "../node-storage.ts";
import { sidecarSettings } from "../settings.ts";
import { createCharts } from "#status/charts.ts";
import { createConditionBoard, type ConditionBoard } from "#status/condition-board.ts";
import type { Condition, ConditionType } from "#status/condition.ts";
import type { EventLog } from "#status/event-log.ts";
import { auditEvents, createStoredEventLog } from "../upkeep/state/stored-event-log.ts";
import { listenForControl } from "../upkeep/control/listen-control.ts";
import type { ControlTarget } from "../upkeep/control/request-control.ts";
import { openUpkeepState, type UpkeepState } from "../upkeep/state/upkeep-state.ts";
import { startUpkeep, type Upkeep } from "../upkeep/upkeep.ts";
import type { FakeNode } from "./fake-node.ts";
import { buildEnvironment } from "./sidecar-environment.ts";

/** A node's upkeep as the sidecar composes it, without listeners. */
export type RunningUpkeep = AsyncDisposable &
  Readonly<{
    board: ConditionBoard;
    events: EventLog;
    /** Messages of the events, newest first. */
    messages: () => readonly string[];
    /** Lines of `change-made`, in order. */
    audited: readonly AuditEntry[];
    state: UpkeepState;
    upkeep: Upkeep;
    health: HealthWatch;
    metrics: Registry;
    /** Reads a metric without labels; NaN if it has no value. */
    metric: (name: string) => Promise<number>;
    stateDirectory: string;
    /** Address to which its commands connect. */
    target: ControlTarget;
    /** Counts how often node.conf was corrected. */
    corrections: () => Promise<number>;
    /** Waits until this many more iterations have completed. */
    passes: (count: number) => Promise<void>;
    /** Waits until a condition has the given reason; after the deadline, fails with a list of all conditions. */
    reason: (type: ConditionType, reason: string, withinMs?: number) => Promise<Condition>;
    /** Waits until a condition's message contains the words, and returns it. */
    message: (type: ConditionType, messageText: string, withinMs?: number) => Promise<string>;
    /** Waits until the node has started this many times and no restart is pending. */
    restarted: (starts: number) => Promise<void>;
  }>;

type UpkeepNode = Pick<FakeNode, "workspace" | "httpUrl"> & Partial<Pick<FakeNode, "starts">>;

/**
 * Starts the upkeep for a fake node, with short intervals and its state in the node's workspace. `environment` uses the names of the real
 * settings.
 */
export async function runUpkeep(
  node: UpkeepNode,
  environment: Environment = {},
  {
    stateDirectory = join(node.workspace, "state"),
    clock = systemClock,
  }: Readonly<{ stateDirectory?: string; clock?: Clock }> = {},
): Promise<RunningUpkeep> {
  const settings = readWithConstants(sidecarSettings, {
    ...buildEnvironment(node),
    GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory,
    GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "100",
    GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "1000",
    GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "2500",
    GATEHOUSE_SIDECAR_RESTART_SETTLE_MS: "50",
    ...environment,
  });
  const log = pino({ level: process.env["GATEHOUSE_TEST_LOG"] ?? "silent" });
  const metrics = new Registry();
  const state = openUpkeepState(stateDirectory);
  const auditEntries: AuditEntry[] = [];
  const events = auditEvents(createStoredEventLog(state.store, clock), {
    add: (entry) => void auditEntries.push(entry),
  });
  const board = createConditionBoard({ log, metrics, clock, events });
  const charts = createCharts();
  const eventLoop = { lateMs: () => 0, recentMs: () => 0, [Symbol.dispose]: () => undefined };
  const health = startHealth(settings, { log, metrics, clock, send: sendRequest, board, charts, eventLoop });
  const dependencies = { log, metrics, clock, send: sendRequest, state, events, board, charts, health };
  const upkeep = await startUpkeep(settings, { ...dependencies, listedCommits: () => ({}), finishes: () => undefined });
  const storage = await watchNodeStorage(settings, { ...dependencies, upkeep, onCheck: () => undefined });
  const control = await listenForControl(stateDirectory, upkeep.control, { log, mask: createMask() });
  return {
    board,
    events,
    audited: auditEntries,
    state,
    upkeep,
    health,
    metrics,
    stateDirectory,
    target: { kind: "socket", stateDirectories: [stateDirectory] },
    ...createReader(node, board, events, metrics),
    [Symbol.asyncDispose]: async () => {
      await control[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
      await upkeep[Symbol.asyncDispose]();
      await health[Symbol.asyncDispose]();
      state[Symbol.dispose]();
    },
  };
}

function createReader(node: UpkeepNode, board: ConditionBoard, events: EventLog, metrics: Registry) {
  const messages = () => events.list().map(({ message }) => message);
  const until = async (
    type: ConditionType,
    expectedReason: string,
    isMet: (found: Condition) => boolean,
    withinMs = generousMs,
  ) => {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const condition = board.get(type);
      if (condition !== undefined && isMet(condition)) return condition;
      if (performance.now() > deadline) {
        const all = board.list().map((each) => `${each.type} ${each.reason}: ${each.message}`);
        const last = messages().slice(0, 20);
        throw new Error([`${type} did not become ${expectedReason}`, ...all, "events:", ...last].join("\n"));
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const reason: RunningUpkeep["reason"] = (type, expectedReason, withinMs) =>
    until(type, expectedReason, (found) => found.reason === expectedReason, withinMs);
  const metric = async (name: string) => (await metrics.getSingleMetric(name)?.get())?.values[0]?.value ?? NaN;
  const iterations = () => metric("gatehouse_reconciles_total");
  return {
    messages,
    metric,
    corrections: () => metric("gatehouse_node_config_corrections_total"),
    passes: async (count: number) => {
      const iterationsBefore = await iterations();
      await readUntil(iterations, (now) => now >= iterationsBefore + count);
    },
    reason,
    message: async (type: ConditionType, messageText: string, withinMs?: number) =>
      (await until(type, messageText, ({ message }) => message.includes(messageText), withinMs)).message,
    restarted: async (starts: number) => {
      if (node.starts === undefined) throw new Error(`${node.workspace} does not count its starts`);
      await readUntil(node.starts, (count) => count === starts);
      await reason("NoRestartPending", "NoRestart");
    },
  };
}
