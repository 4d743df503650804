import { listPageLinks } from "#daemon/http/page-links.ts";
import { type Condition, findConditionTitle } from "#status/condition.ts";
import { describeIncident, type IncidentAdvice } from "#status/incident.ts";
import type { EventLog } from "#status/event-log.ts";
import type { Verdict } from "#status/verdict.ts";
import type { PageState } from "./page-state.ts";
import type { DiskCheck } from "#health/disk-watch.ts";
import type { RpcState } from "#health/rpc-state.ts";
import type { TrafficRates } from "./traffic-rates.ts";
import type { Clock } from "#daemon/clock.ts";
import type { ConditionBoard } from "#status/condition-board.ts";

export type NodePageOptions = ReportedNode &
  Readonly<{
    service: "sidecar" | "gateway";
    /** Pages to link to, each `name=URL`. */
    pages: readonly string[];
    /** Age, in ms, from which a block counts as old. */
    blockOldAfterMs: number;
  }>;

/** Sources of the page's data. All data is read from state; nothing queries the node. */
export type NodePageSources = NodeStatusSources &
  Readonly<{
    verdict: () => Verdict;
    events: EventLog;
    state: PageState;
    /** Figures that exist only in a sidecar. */
    figures: () => Pick<FigureSources, "restarts" | "disk">;
    advise: (cause: Condition) => IncidentAdvice;
  }>;

/** Age from which the disk's figure counts as old; the disk is checked once a minute. */
const diskOldAfterMs = 150_000;

export function describeNodePage(options: NodePageOptions, sources: NodePageSources) {
  const { state, events, clock, health, advise } = sources;
  const { headline, incidents } = state.read();
  const traffic = state.history.traffic();
  const { blockOldAfterMs } = options;
  const rules = { nowMs: clock.wallMs(), monotonicMs: clock.monotonicMs(), blockOldAfterMs };
  return {
    ...describeNodeStatus(options, sources),
    service: options.service,
    verdict: { level: sources.verdict().level },
    headline: { ...headline, ...findStateStart(state, headline.state, sources.board) },
    figures: buildFigures({ health: health(), traffic, ...sources.figures() }, rules),
    incidents: incidents.map((incident) => describeIncident(incident, advise)),
    traffic,
    events: events.list(),
    history: { ranges: state.history.ranges(), outages: state.outages.list() },
    pages: listPageLinks(options.pages),
  };
}

/** Returns when the current state started: an outage, when the node last served; a pause, at its condition's timestamp. */
function findStateStart({ outages }: PageState, state: string, board: NodePageSources["board"]) {
  const last = outages.list().at(-1);
  const hold = state.startsWith("Paused") ? board.get("NotPaused") : undefined;
  if (hold !== undefined) return { since: hold.since, beganEarlier: false };
  const start =
    state === "Node down" && last !== undefined && last.toMs === undefined
      ? { atMs: last.fromMs, beganEarlier: last.beganEarlier }
      : outages.since();
  return start && { since: new Date(start.atMs).toISOString(), beganEarlier: start.beganEarlier };
}

/** A figure, the time when it was measured (ISO 8601), and whether it is too old to count as current. */
type Dated<Value extends object> = Value & Readonly<{ at: string; old: boolean }>;

/** The strip of figures on the page; unknown figures are absent. */
type Figures = Readonly<{
  /** `at`: when this block was first seen. */
  lastBlock?: Dated<Readonly<{ height: number }>>;
  rpc?: Dated<Readonly<{ latencyMs?: number; failure?: string }>>;
  gateway?: Dated<Readonly<{ requestsPerSecond: number; errorRatio: number; limitedPerSecond: number }>>;
  restarts?: Readonly<{ left: number; perHour: number }>;
  disk?: Dated<Readonly<{ freeRatio: number; freeBytes: number }>>;
}>;

/** Latest observations from which the figures are derived; undefined where there is none. */
type FigureSources = Readonly<{
  health: RpcState;
  traffic: TrafficRates | undefined;
  restarts: Readonly<{ used: number; perHour: number }> | undefined;
  disk: Readonly<{ check: Pick<DiskCheck, "freeBytes" | "freeBytesRatio">; atMs: number }> | undefined;
}>;

const format = (atMs: number) => new Date(atMs).toISOString();

function buildFigures(
  { health, traffic, restarts, disk }: FigureSources,
  { nowMs, monotonicMs, blockOldAfterMs }: Readonly<{ nowMs: number; monotonicMs: number; blockOldAfterMs: number }>,
): Figures {
  const now = { at: format(nowMs), old: false };
  const { height, heightSinceMs, latencyMs, failure, answeredAtMs } = health;
  const ageMs = monotonicMs - (heightSinceMs ?? 0);
  const isBlockOld = failure !== undefined || ageMs > blockOldAfterMs;
  const { requests, errors, limited } = traffic?.total ?? { requests: 0, errors: 0, limited: 0 };
  return {
    ...(height !== undefined &&
      heightSinceMs !== undefined && { lastBlock: { height, at: format(nowMs - ageMs), old: isBlockOld } }),
    ...(failure !== undefined && { rpc: { failure: failure.reason, ...now } }),
    ...(failure === undefined &&
      latencyMs !== undefined &&
      answeredAtMs !== undefined && { rpc: { latencyMs, at: format(answeredAtMs), old: false } }),
    ...(traffic !== undefined && {
      gateway: {
        requestsPerSecond: requests,
        errorRatio: requests === 0 ? 0 : errors / requests,
        limitedPerSecond: limited,
        ...now,
      },
    }),
    ...(restarts !== undefined && {
      restarts: { left: Math.max(0, restarts.perHour - restarts.used), perHour: restarts.perHour },
    }),
    ...(disk !== undefined && {
      disk: {
        freeRatio: disk.check.freeBytesRatio,
        freeBytes: disk.check.freeBytes,
        at: format(disk.atMs),
        old: nowMs - disk.atMs > diskOldAfterMs,
      },
    }),
  };
}

type ReportedNode = Readonly<{
  name: string;
  httpUrl: string;
}>;

/** Sources for any node's status. All data is read from state; nothing queries the node. */
type NodeStatusSources = Readonly<{ board: ConditionBoard; health: () => RpcState; clock: Clock }>;

/** Describes a node's RPC and its conditions for `/status`. */
function describeNodeStatus({ name, httpUrl }: ReportedNode, { board, health, clock }: NodeStatusSources) {
  const conditions = board.list();
  const { height, latencyMs, chainId, clientVersion, binaryVersion, syncing, failure, answeredAtMs } = health();
  return {
    /** The service's own time, so that ages do not depend on the reader's clock. */
    at: new Date(clock.wallMs()).toISOString(),
    healthy: conditions.every(({ status }) => status !== "False"),
    node: {
      name,
      rpc: new URL(httpUrl).origin,
      height,
      latencyMs,
      chainId,
      clientVersion,
      /** Version of the running node; a version reported before a restart is not shown. */
      binaryVersion: binaryVersion?.isCurrent === true ? binaryVersion.text : undefined,
      syncing,
      /** Whether the last check succeeded. If not, the fields above date from `answeredAt`. */
      answers: failure === undefined && answeredAtMs !== undefined,
      answeredAt: answeredAtMs === undefined ? undefined : new Date(answeredAtMs).toISOString(),
    },
    conditions: conditions.map(({ type, status, reason, message, since }) => {
      return { type, title: findConditionTitle({ type, status, reason }), status, reason, message, since };
    }),
  };
}
