import { pino } from "pino";
import { Registry } from "prom-client";
import { createApp } from "#daemon/http/app.ts";
import { listenHttp } from "#daemon/http/listener.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import type { Traffic } from "#gateway/observe/meter.ts";
import type { RpcState } from "#health/rpc-state.ts";
import { buildDeployment } from "#sidecar/page/advice/deployment.ts";
import { readRunbooks, addPageRoutes, addStatusRoutes, type UpkeepMode } from "#sidecar/page/start-page.ts";
import { createPageState } from "#gateway/page/page-state.ts";
import { sidecarSettings } from "#sidecar/settings.ts";
import { createCommandText } from "#sidecar/upkeep/command-text.ts";
import type { PlanView } from "#sidecar/upkeep/plan/plan-view.ts";
import { createCharts } from "#status/charts.ts";
import type { ConditionReport, ConditionType } from "#status/condition.ts";
import { createConditionBoard } from "#status/condition-board.ts";
import { conditionReasons } from "#status/condition-reasons.ts";
import { createRecentEvents } from "#status/event-log.ts";
import { deriveVerdict } from "#status/verdict.ts";

export type Moment = Readonly<{
  height?: number;
  latencyMs?: number;
  failure?: RpcState["failure"];
  prunable?: number;
  pruned?: number;
  traffic?: Traffic;
}>;

export type ServedPageOptions = Readonly<{
  mode?: UpkeepMode;
  plan?: PlanView;
  env?: Readonly<Record<string, string>>;
  watched?: readonly ConditionType[];
  pages?: readonly string[];
}>;

const looksEveryMs = 5_000;

/**
 * Serves the page of a node whose past and present a test controls, minute by minute; the sidecar's own clock stops at
 * the end of the past.
 */
export async function servePage({
  mode = "enforce",
  plan,
  env = {},
  watched = [],
  pages = [],
}: ServedPageOptions = {}) {
  let nowMs = Date.parse("2026-03-04T12:00:00Z");
  let health: RpcState = { answers: 0 };
  let traffic: Traffic = { calls: [], limited: [] };
  let restarts: Readonly<{ used: number; perHour: number }> | undefined = { used: 0, perHour: 6 };
  let free: number | undefined = 0.62;
  const clock = { wallMs: () => nowMs, monotonicMs: () => nowMs };
  const log = pino({ level: "silent" });
  const metrics = new Registry();
  const events = createRecentEvents(clock);
  const board = createConditionBoard({ log, metrics, clock, events: { ...events, add: () => undefined } });
  const charts = createCharts();
  const settings = readSettings(sidecarSettings, {
    env: {
      GATEHOUSE_SIDECAR_NODE_WORKSPACE: "/srv/node-7",
      GATEHOUSE_SIDECAR_RESTART_DRIVER: "docker",
      GATEHOUSE_SIDECAR_DOCKER_CONTAINER: "gatehouse-prod-node",
      GATEHOUSE_SIDECAR_UPKEEP_COMMAND_PREFIX: "docker exec gatehouse-prod-sidecar gatehouse",
      ...env,
    },
  });
  const verdict = () => deriveVerdict(board.list(), watched);
  const sources = { board, verdict, clock, health: () => health, charts };
  const state = createPageState({ ...sources, traffic: () => Promise.resolve(traffic), pruningOldAfterMs: 90_000 });
  const facts = {
    command: createCommandText(settings.upkeep),
    statusUrl: "http://127.0.0.1:9600",
    ops: { directory: "/srv/node-7/bin", start: ["./ops", "start", "--config", "./node.conf"] },
    configPath: "/srv/node-7/bin/node.conf",
    dataPath: "/srv/node-7/data",
  };
  const app = createApp({ bodyLimitBytes: 1_024 }, { log, metrics });
  const options = { name: "validator-eu-1", httpUrl: "http://127.0.0.1:18100", mode, pages };
  const gib = 2 ** 30;
  const runbooks = readRunbooks();
  addStatusRoutes(
    app,
    { ...options, stillAfterMs: { heights: 30_000, pruning: 600_000 } },
    {
      ...sources,
      runbooks,
      events,
      state,
      deployment: () => buildDeployment(settings, facts),
      figures: () => ({
        restarts,
        disk:
          free === undefined
            ? undefined
            : { check: { freeBytes: free * 500 * gib, freeBytesRatio: free }, atMs: nowMs },
      }),
      withNodeNames: (value) => value,
      configured: () => ({ ok: true, message: "" }),
      plan: () => plan,
      actions: () => undefined,
    },
  );
  addPageRoutes(app, runbooks);
  const listening = { host: "127.0.0.1", port: 0, requestTimeoutMs: 5_000, setting: "-" };
  const { url, ...listener } = await listenHttp(app, listening);
  const resources = new AsyncDisposableStack();
  resources.use(listener);
  const turn = (ms: number) => {
    nowMs += ms;
  };
  const set = (...reports: readonly ConditionReport[]) => reports.forEach((report) => board.set(report));
  return {
    url,
    board,
    events,
    set,
    setRight: (types: readonly ConditionType[]) => set(...types.map(buildRightReport)),
    setRestarts: (value: typeof restarts) => void (restarts = value),
    setFree: (value: typeof free) => void (free = value),
    nowMs: () => nowMs,
    /**
     * Advances time, with a check every five seconds; `momentAt` returns the node's state, by the time since the start.
     */
    live: async (spanMs: number, momentAt: (sinceMs: number) => Moment) => {
      for (let sinceMs = 0; sinceMs <= spanMs; sinceMs += looksEveryMs) {
        const moment = momentAt(sinceMs);
        health = computeHealth(health, moment, nowMs);
        if (moment.traffic !== undefined) ({ traffic } = moment);
        if (moment.prunable !== undefined) charts.prunable.add({ atMs: nowMs, value: moment.prunable });
        if (moment.pruned !== undefined) charts.pruned.add({ atMs: nowMs, value: moment.pruned });
        await state.history.sample();
        state.read();
        if (sinceMs < spanMs) turn(looksEveryMs);
      }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function buildRightReport(type: ConditionType): ConditionReport {
  const messages: Partial<Record<ConditionType, string>> = {
    RpcResponding: "http://127.0.0.1:18100 responds to eth_blockNumber in 3 ms.",
    HeightAdvancing: "Height is 5,410,233.",
    Reconciling: "The last reconcile completed at 12:00:00.",
  };
  // The table ties each reason to its type, which the compiler can't check in a variable.
  const reason = conditionReasons[type].True[0];
  return { type, status: "True", reason, message: messages[type] ?? "It is as it should be." } as ConditionReport;
}

function computeHealth(before: RpcState, { height, latencyMs = 3, failure }: Moment, nowMs: number): RpcState {
  const known = { ...before, chainId: 1672, clientVersion: "node/v0.16.2" };
  if (failure !== undefined) return { ...known, failure };
  const { failure: _, ...rest } = known;
  return {
    ...rest,
    answers: before.answers + 1,
    answeredAtMs: nowMs,
    answeredMs: nowMs,
    latencyMs,
    ...(height === undefined ? {} : { height }),
    heightSinceMs: height === before.height ? (before.heightSinceMs ?? nowMs) : nowMs,
  };
}
