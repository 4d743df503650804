import { findFaults, type NodeInfo, type NodeFault } from "#health/rpc-state.ts";
import { startPrecisionMs } from "../drivers/driver.ts";
import { readNodeStart } from "./node-start.ts";
import type { RestartContext } from "./restart-context.ts";
import type { ObservedProcess, UnresponsivePeriod, UnhealthyPeriod } from "./restart-observation.ts";

/**
 * Explains why an unhealthy node should be restarted. A node that is catching up with its references should not: a restart would only delay
 * it. A node whose process was seen and has exited is started regardless of `lag.restart`: there is nothing left to interrupt.
 */
export async function explainUnhealthyNode(context: RestartContext): Promise<string | undefined> {
  const { process, health } = context;
  const { restart: isRestarted, restartAfterMs } = context.settings.lag;
  if (isUnresolvable(context)) return undefined;
  const wasStarting = process.now().startingUntilMs !== undefined;
  const startingUntilMs = await findStartupDeadline(context);
  process.note({ startingUntilMs });
  // Until it responds, a node counts neither as healthy nor as unhealthy.
  if (wasStarting && process.now().unresponsive === undefined) process.note({ unhealthy: undefined });
  const facts = health.facts();
  const { lag } = facts;
  const faults = findFaults(facts).filter(mayBeRepaired);
  const [first] = [...faults.filter((fault) => fault !== lag), ...faults];
  if (first === undefined) {
    process.note({ unhealthy: undefined });
    return undefined;
  }
  const unhealthy = countUnhealthy(process.now().unhealthy, {
    lag,
    isOnlyBehind: first === lag,
    nowMs: health.ranMs(),
  });
  process.note({ unhealthy });
  const unhealthyForMs = health.ranMs() - unhealthy.sinceMs;
  if ((!isRestarted && !process.now().hasEnded) || unhealthyForMs < restartAfterMs) return undefined;
  if (startingUntilMs !== undefined) return undefined;
  return `the node has been unhealthy for ${Math.round(unhealthyForMs / 1_000)} s: ${first.reason} (${first.message})`;
}

/** Whether a restart may fix a fault. A restart doesn't restore blocks that the node has lost. */
function mayBeRepaired({ reason }: NodeFault): boolean {
  return reason !== "WentBackwards";
}

/** For a node that is only behind, the time restarts whenever it gets closer than ever before. */
function countUnhealthy(
  previousPeriod: UnhealthyPeriod | undefined,
  { lag, isOnlyBehind, nowMs }: Readonly<{ lag: NodeInfo["lag"]; isOnlyBehind: boolean; nowMs: number }>,
): UnhealthyPeriod {
  const { sinceMs = nowMs, nearestBlocks = Infinity } = previousPeriod ?? {};
  if (typeof lag !== "object" || lag.blocks >= nearestBlocks) return { sinceMs, nearestBlocks };
  const isNearer = isOnlyBehind && nearestBlocks !== Infinity;
  return { sinceMs: isNearer ? nowMs : sinceMs, nearestBlocks: lag.blocks };
}

/**
 * Explains why a hung node should be restarted: it responded since its start (`eth_blockNumber`; specification, "Node command line"), but not for
 * `restart.hungAfterMs`. A node that is replaying its log hasn't responded yet and is left alone, and so is one whose start is unknown.
 */
export async function explainHungNode(context: RestartContext): Promise<string | undefined> {
  const { health } = context;
  const { hungAfterMs } = context.settings.restart;
  if (isUnresolvable(context)) return undefined;
  const unresponsivePeriod = recordUnresponsive(context);
  if (unresponsivePeriod === undefined) return undefined;
  const silentForMs = health.ranMs() - unresponsivePeriod.sinceMs;
  const { answeredAtMs } = health.current();
  if (hungAfterMs === 0 || silentForMs < hungAfterMs || answeredAtMs === undefined) return undefined;
  const startedAt = await readNodeStart(context);
  if (typeof startedAt !== "number" || startedAt > answeredAtMs) return undefined;
  return `the node hangs: it has run since ${new Date(startedAt).toISOString()} and has not responded for ${Math.round(silentForMs / 1_000)} s`;
}

/**
 * Until when (wall clock) an unresponsive node may still be starting: `restart.answersWithinMs` from its start or, if that is unknown, from the first
 * check without a response by a node never seen to respond or whose port was closed since.
 */
async function findStartupDeadline(context: RestartContext): Promise<number | undefined> {
  const { process, clock, health, driver } = context;
  const { answersWithinMs } = context.settings.restart;
  const unresponsivePeriod = recordUnresponsive(context);
  const runs = ((await driver?.processes?.()) ?? []).length > 0;
  const { answeredAtMs } = health.current();
  process.note({ hasEnded: unresponsivePeriod !== undefined && process.now().wasSeen && !runs });
  if (unresponsivePeriod === undefined) {
    recordProcess(process, runs, { answeredAtMs, wallMs: clock.wallMs() });
    return undefined;
  }
  if (process.now().hasEnded) return undefined;
  const startedAtMs = await readNodeStart(context);
  if (startedAtMs === "not-running") return undefined;
  const silentSinceMs = clock.wallMs() - (health.ranMs() - unresponsivePeriod.sinceMs);
  const untilMs = (startedAtMs === "unknown" ? silentSinceMs : startedAtMs) + answersWithinMs;
  const hasResponded =
    answeredAtMs !== undefined &&
    (startedAtMs === "unknown" ? !unresponsivePeriod.portWasClosed : startedAtMs + startPrecisionMs <= answeredAtMs);
  return hasResponded || clock.wallMs() >= untilMs ? undefined : untilMs;
}

/** A node that has just exited responded a moment ago, so only a later response shows that the exited process wasn't the node. */
function recordProcess(
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
function isUnresolvable({ process, health }: RestartContext): boolean {
  if (health.facts().rpc?.fault?.reason !== "NameNotResolved") return false;
  process.note({ unresponsive: undefined, unhealthy: undefined });
  return true;
}

/** Failure reasons that may mean that the node's port is closed: a proxy may accept the connection on the node's behalf and then close it. */
const closedPortReasons: ReadonlySet<NodeFault["reason"]> = new Set([
  "ConnectionRefused",
  "ConnectionClosed",
  "Unreachable",
]);

function recordUnresponsive({ process, health }: RestartContext): UnresponsivePeriod | undefined {
  const fault = health.facts().rpc?.fault;
  const { sinceMs = health.ranMs(), portWasClosed = false } = process.now().unresponsive ?? {};
  const unresponsivePeriod =
    fault === undefined ? undefined : { sinceMs, portWasClosed: portWasClosed || closedPortReasons.has(fault.reason) };
  process.note({ unresponsive: unresponsivePeriod });
  return unresponsivePeriod;
}
