import type { ConditionReport } from "#status/condition.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import { followPruning, pruneCondition } from "./prune-progress.ts";
import type { Plan } from "../plan/plan.ts";
import type { UpkeepMemory, UpkeepParts } from "../upkeep-parts.ts";

/**
 * Switches auto-pruning on if that is planned, once for each PruneInfo, and says how it is. The tool runs beside later passes,
 * because a drift of node.conf is not to wait for it. `idle` says why the sidecar may do nothing now.
 */
export function applyPrune(planned: Plan, idle: string | undefined, memory: UpkeepMemory, parts: UpkeepParts): void {
  const { observer, nodeCli, board, metrics } = parts;
  const info = observer.pruneInfo();
  const type = "AutoPruneOn";
  metrics.pruneInfo(info);
  if (info === undefined) {
    const message =
      "Whether auto-pruning is on is not known: node_cli prune --get has printed nothing yet that tells it (NodeCliWorking).";
    board.set({ type, status: "Unknown", reason: "NoPruneInfo", message });
    return;
  }
  setPruneCondition(info, memory, parts);
  const action = planned.actions.find((each) => each.kind === "enable-auto-prune");
  if (action === undefined || nodeCli === undefined) {
    board.set(asObserved(info.autoPrune, planned));
    return;
  }
  if (idle !== undefined) {
    const message = `Auto-pruning is off, and ${idle}: node_cli prune --enable_auto_prune switches it on.`;
    board.set({ type, status: "False", reason: "Off", message });
  }
  const isBusy = memory.pruning !== undefined || memory.restart !== undefined;
  if (idle !== undefined || isBusy || memory.prunedOn === info) return;
  memory.prunedOn = info;
  memory.pruning = switchOn(nodeCli, action.reason, memory, parts)
    .catch((error: unknown) => parts.log.error({ err: error }, "switching auto-pruning on failed"))
    .finally(() => {
      memory.pruning = undefined;
      parts.wake();
    });
}

async function switchOn(
  nodeCli: NodeCli,
  why: string,
  memory: UpkeepMemory,
  { signal, board, events, observer }: UpkeepParts,
): Promise<void> {
  const enabled = await nodeCli.enableAutoPrune(signal);
  if (signal.aborted) return;
  if (!enabled.ok) {
    const message = `Auto-pruning could not be switched on: ${enabled.message}`;
    board.set({ type: "AutoPruneOn", status: "False", reason: enabled.reason, message });
    return;
  }
  // A tool may end with status 0 and have done nothing: only what it reads afterwards counts.
  await observer.look(signal);
  if (observer.pruneInfo()?.autoPrune === true) {
    events.add("prune", "Auto-pruning was switched on.", why);
    return;
  }
  // The next attempt comes with the next regular query.
  memory.prunedOn = observer.pruneInfo();
  const said = enabled.value === "" ? "" : ` It said: ${enabled.value}`;
  const message = `node_cli prune --enable_auto_prune ended with status 0, but enable_auto_prune does not read 1; run it by hand to see why.${said}`;
  board.set({ type: "AutoPruneOn", status: "False", reason: "NotSwitchedOn", message });
}

function setPruneCondition(
  info: PruneInfo,
  memory: UpkeepMemory,
  { clock, health, settings, board, charts }: UpkeepParts,
): void {
  const nowMs = clock.monotonicMs();
  const { height } = health.current();
  memory.pruneProgress = followPruning(memory.pruneProgress, info, nowMs, height);
  const { pruneReservedVersion, realPruneReservedVersion } = info;
  if (memory.chartedPruneInfo !== info) {
    memory.chartedPruneInfo = info;
    const atMs = clock.wallMs();
    if (pruneReservedVersion !== undefined) charts.prunable.add({ atMs, value: Number(pruneReservedVersion) });
    if (realPruneReservedVersion !== undefined) charts.pruned.add({ atMs, value: Number(realPruneReservedVersion) });
  }
  const { stalledAfterMs } = settings.prune;
  board.set(pruneCondition(info, memory.pruneProgress, { nowMs, height, stalledAfterMs }));
}

function asObserved(on: boolean, planned: Plan): ConditionReport {
  const type = "AutoPruneOn";
  const stays = planned.problems.find(({ reason }) => reason === "PruneStaysOn");
  if (stays !== undefined) return { type, status: "False", reason: "PruneStaysOn", message: stays.message };
  return on
    ? { type, status: "True", reason: "On", message: "enable_auto_prune reads 1." }
    : { type, status: "True", reason: "OffAsDesired", message: "Auto-pruning is off, as desired." };
}
