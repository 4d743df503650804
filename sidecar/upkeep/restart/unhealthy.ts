import type { Clock } from "#daemon/clock.ts";
import type { HealthWatch } from "#health/health-watch.ts";
import { findFaults, type NodeInfo, type NodeFault } from "#health/node-health.ts";
import { startPrecisionMs, type NodeDriver } from "../drivers/driver.ts";
import { readNodeStart } from "./node-began.ts";
import type { ObservedProcess, Silence, Unwell } from "./restart-observation.ts";

export type HealthDependencies = Readonly<{
  health: Pick<HealthWatch, "current" | "facts" | "ranMs">;
  driver: NodeDriver | undefined;
  clock: Clock;
  signal: AbortSignal;
}>;

/**
 * Explains why the node should be restarted because of its health; undefined if that isn't allowed or the node hasn't been unhealthy for
 * long enough. A node that is behind its references but is getting closer is catching up: after a start with old data that takes hours, and
 * a restart would only prolong it. A node whose process was seen and has exited is started again regardless of `lag.restart`, because there
 * is nothing left to interrupt.
 */
export async function explainUnhealthy(
  process: ObservedProcess,
  {
    isRestarted,
    restartAfterMs,
    answersWithinMs,
  }: Readonly<{ /** `lag.restart`. */ isRestarted: boolean; restartAfterMs: number; answersWithinMs: number }>,
  dependencies: HealthDependencies,
): Promise<string | undefined> {
  const { health } = dependencies;
  if (isUnasked(process, health)) return undefined;
  const wasStarting = process.now().startingUntilMs !== undefined;
  const startingUntilMs = await findStartupDeadline(process, answersWithinMs, dependencies);
  process.note({ startingUntilMs });
  // Until it responds, a node counts neither as healthy nor as unhealthy.
  if (wasStarting && process.now().silence === undefined) process.note({ unwell: undefined });
  const facts = health.facts();
  const { lag } = facts;
  const faults = findFaults(facts).filter(mayBeRepaired);
  const [first] = [...faults.filter((fault) => fault !== lag), ...faults];
  if (first === undefined) {
    process.note({ unwell: undefined });
    return undefined;
  }
  const unwell = countUnwell(process.now().unwell, { lag, isOnlyBehind: first === lag, nowMs: health.ranMs() });
  process.note({ unwell });
  const unwellForMs = health.ranMs() - unwell.sinceMs;
  if ((!isRestarted && !process.now().hasEnded) || unwellForMs < restartAfterMs) return undefined;
  if (startingUntilMs !== undefined) return undefined;
  return `the node has been unwell for ${Math.round(unwellForMs / 1_000)} s: ${first.reason} (${first.message})`;
}

/** Whether a restart may fix a fault. A restart doesn't restore blocks that the node has lost. */
function mayBeRepaired({ reason }: NodeFault): boolean {
  return reason !== "WentBackwards";
}

/**
 * Updates the time since which the node has been unhealthy. For a node that is only behind, this is the last time at which it got closer to
 * its references than ever before.
 */
function countUnwell(
  before: Unwell | undefined,
  { lag, isOnlyBehind, nowMs }: Readonly<{ lag: NodeInfo["lag"]; isOnlyBehind: boolean; nowMs: number }>,
): Unwell {
  const { sinceMs = nowMs, nearestBlocks = Infinity } = before ?? {};
  if (typeof lag !== "object" || lag.blocks >= nearestBlocks) return { sinceMs, nearestBlocks };
  const isNearer = isOnlyBehind && nearestBlocks !== Infinity;
  return { sinceMs: isNearer ? nowMs : sinceMs, nearestBlocks: lag.blocks };
}

/**
 * Explains why a hung node should be restarted: it has responded to `eth_blockNumber` since it started (specification, "Node command
 * line"), but not for `restart.hungAfterMs`; undefined otherwise. A node that is replaying its log hasn't responded since it started, and
 * is left alone, however long that takes. So is a node whose driver doesn't know when it started.
 */
export async function explainHung(
  process: ObservedProcess,
  { hungAfterMs }: Readonly<{ hungAfterMs: number }>,
  dependencies: HealthDependencies,
): Promise<string | undefined> {
  const { health } = dependencies;
  if (isUnasked(process, health)) return undefined;
  const silence = recordSilence(process, health);
  if (silence === undefined) return undefined;
  const silentForMs = health.ranMs() - silence.sinceMs;
  const { answeredAtMs } = health.current();
  if (hungAfterMs === 0 || silentForMs < hungAfterMs || answeredAtMs === undefined) return undefined;
  const startedAt = await readNodeStart(process, dependencies);
  if (typeof startedAt !== "number" || startedAt > answeredAtMs) return undefined;
  return `the node hangs: it runs since ${new Date(startedAt).toISOString()} and has not answered for ${Math.round(silentForMs / 1_000)} s`;
}

/**
 * Determines the time (wall clock) until which an unresponsive node may still be starting: it hasn't responded since it started, and
 * `restart.answersWithinMs` hasn't elapsed. A node whose process has exited isn't starting. If the driver doesn't know when the node
 * started, the time counts from the first check without a response, provided that the node was never seen to respond or its port has since
 * been closed. Undefined if the node responds, isn't running, or hangs.
 */
async function findStartupDeadline(
  process: ObservedProcess,
  answersWithinMs: number,
  dependencies: HealthDependencies,
): Promise<number | undefined> {
  const { clock, health, driver } = dependencies;
  const silence = recordSilence(process, health);
  const runs = ((await driver?.processes?.()) ?? []).length > 0;
  const { answeredAtMs } = health.current();
  process.note({ hasEnded: silence !== undefined && process.now().wasSeen && !runs });
  if (silence === undefined) {
    noteProcess(process, runs, { answeredAtMs, wallMs: clock.wallMs() });
    return undefined;
  }
  if (process.now().hasEnded) return undefined;
  const startedAtMs = await readNodeStart(process, dependencies);
  if (startedAtMs === "not-running") return undefined;
  const silentSinceMs = clock.wallMs() - (health.ranMs() - silence.sinceMs);
  const untilMs = (startedAtMs === "unknown" ? silentSinceMs : startedAtMs) + answersWithinMs;
  const hasAnswered =
    answeredAtMs !== undefined &&
    (startedAtMs === "unknown" ? !silence.portWasClosed : startedAtMs + startPrecisionMs <= answeredAtMs);
  return hasAnswered || clock.wallMs() >= untilMs ? undefined : untilMs;
}

/**
 * Records whether the process of a node that responds is visible. A node that has just exited responded a moment ago, so only a response
 * after the process was found missing shows that the process seen before wasn't the node.
 */
function noteProcess(
  process: ObservedProcess,
  runs: boolean,
  { answeredAtMs, wallMs }: Readonly<{ answeredAtMs: number | undefined; wallMs: number }>,
): void {
  if (runs) return process.note({ wasSeen: true, missedAtMs: undefined });
  const { missedAtMs = wallMs } = process.now();
  process.note({ missedAtMs });
  if (answeredAtMs !== undefined && answeredAtMs > missedAtMs) process.note({ wasSeen: false });
}

/** Whether the node can't be queried because its name doesn't resolve; in that case, records that the node is neither unresponsive nor unhealthy. */
function isUnasked(process: ObservedProcess, health: Pick<HealthWatch, "facts">): boolean {
  if (health.facts().rpc?.fault?.reason !== "NameNotResolved") return false;
  process.note({ silence: undefined, unwell: undefined });
  return true;
}

/** Failure reasons that may mean that the node's port is closed: a proxy may accept the connection on the node's behalf and then close it. */
const closedPortReasons: ReadonlySet<NodeFault["reason"]> = new Set([
  "ConnectionRefused",
  "ConnectionClosed",
  "Unreachable",
]);

/** Records whether the node is unresponsive, and since when. */
function recordSilence(process: ObservedProcess, health: Pick<HealthWatch, "facts" | "ranMs">): Silence | undefined {
  const fault = health.facts().rpc?.fault;
  const { sinceMs = health.ranMs(), portWasClosed = false } = process.now().silence ?? {};
  const silence =
    fault === undefined ? undefined : { sinceMs, portWasClosed: portWasClosed || closedPortReasons.has(fault.reason) };
  process.note({ silence });
  return silence;
}
