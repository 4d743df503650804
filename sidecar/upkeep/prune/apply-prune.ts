import type { Charts } from "#status/charts.ts";
import { doneBySidecar } from "#status/event-log.ts";
import type { NodeCli } from "../drivers/node-cli.ts";
import type { PruneInfo } from "#node/prune-info.ts";
import type { RestartContext } from "../restart/restart-context.ts";
import { trackPruning, type AutoPrune, type ObservedPruning } from "./prune-observation.ts";
import type { Plan } from "../plan/plan.ts";

export type PruneContext = RestartContext & Readonly<{ prune: ObservedPruning; charts: Charts }>;

/**
 * Enables auto-pruning if planned, once per PruneInfo, in parallel with later iterations: corrections must not wait for the tool. `idle`: why the
 * sidecar changes nothing now.
 */
export function applyPrune(planned: Plan, idle: string | undefined, context: PruneContext): void {
  const { prune: seen, observer, nodeCli, authority, isRestarting, metrics, log, wake } = context;
  const info = observer.pruneInfo();
  metrics.pruneInfo(info);
  if (info === undefined) return seen.note({ autoPrune: { kind: "unknown" } });
  recordProgress(info, context);
  const action = planned.actions.find((each) => each.kind === "enable-auto-prune");
  if (action === undefined || nodeCli === undefined) {
    return seen.note({ autoPrune: deriveAutoPrune(info.autoPrune, planned) });
  }
  if (idle !== undefined) {
    return seen.note({ autoPrune: { kind: "off", idle, authority: authority(), command: nodeCli.enableCommand() } });
  }
  const { running, prunedOn } = seen.now();
  if (running !== undefined || isRestarting() || prunedOn === info) return;
  seen.note({
    prunedOn: info,
    running: runEnableAutoPrune(nodeCli, action.reason, context)
      .catch((error: unknown) => {
        log.error({ event: "prune-switch-failed", err: error }, "can't enable auto-pruning");
        const message = `Auto-pruning could not be enabled: ${(error as Error).message}. See the event prune-switch-failed in the sidecar's log. Retried at the next node_cli query.`;
        seen.note({ autoPrune: { kind: "notSwitchedOn", reason: "Failed", message } });
      })
      .finally(() => {
        seen.note({ running: undefined });
        wake();
      }),
  });
}

async function runEnableAutoPrune(
  nodeCli: NodeCli,
  why: string,
  { prune: seen, events, observer, signal }: PruneContext,
): Promise<void> {
  events.begin("prune", "Auto-pruning is enabled.", why, { by: "sidecar" });
  const enableResult = await nodeCli.enableAutoPrune(signal);
  if (signal.aborted) return;
  if (!enableResult.ok) {
    const message = `Auto-pruning could not be enabled: ${enableResult.message}`;
    events.fail("prune", "Auto-pruning was not enabled.", enableResult.message, { by: "sidecar" });
    return seen.note({ autoPrune: { kind: "notSwitchedOn", reason: enableResult.reason, message } });
  }
  // A tool may exit with status 0 without any effect, so only the PruneInfo read afterwards counts.
  await observer.check(signal);
  if (observer.pruneInfo()?.autoPrune === true) {
    events.add("prune", "Auto-pruning was enabled.", why, doneBySidecar);
    return;
  }
  const said = enableResult.value === "" ? "" : ` It said: ${enableResult.value}`;
  const message = `\`${nodeCli.enableCommand()}\` exited with status 0, but enable_auto_prune is not 1; run it manually to see why.${said}`;
  events.fail("prune", "Auto-pruning was not enabled.", message, { by: "sidecar" });
  // The next attempt follows the next periodic query.
  seen.note({ prunedOn: observer.pruneInfo(), autoPrune: { kind: "notSwitchedOn", reason: "EnableFailed", message } });
}

function recordProgress(info: PruneInfo, { settings, prune: seen, clock, health, charts }: PruneContext): void {
  const { stalledAfterMs } = settings.prune;
  const nowMs = clock.monotonicMs();
  const { height } = health.current();
  const progress = trackPruning(seen.now().progress, info, nowMs, height);
  const { pruneReservedVersion, realPruneReservedVersion } = info;
  // Adds one point to the chart per query of node_cli.
  if (seen.now().lastCheck?.info !== info) {
    const atMs = clock.wallMs();
    if (pruneReservedVersion !== undefined) charts.prunable.add({ atMs, value: Number(pruneReservedVersion) });
    if (realPruneReservedVersion !== undefined) charts.pruned.add({ atMs, value: Number(realPruneReservedVersion) });
  }
  seen.note({ progress, lastCheck: { info, nowMs, height, stalledAfterMs } });
}

function deriveAutoPrune(on: boolean, planned: Plan): AutoPrune {
  const stays = planned.problems.find(({ reason }) => reason === "CannotDisable");
  if (stays !== undefined) return { kind: "staysOn", message: stays.message };
  return { kind: on ? "on" : "offAsDesired" };
}
