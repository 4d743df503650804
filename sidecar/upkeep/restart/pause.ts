import { hasBeenPolled, isIdle, type RpcState } from "#health/rpc-state.ts";
import type { FailedRestart, PauseBasis } from "../state/upkeep-state.ts";
import { type UpgradeRecord, decideAfterPause } from "../state/upgrade-record.ts";
import type { RestartContext } from "./restart-context.ts";

/**
 * Lifts a pause if the desired state or the (known) version has changed since. Only an operator can lift the pause after a failed rollback.
 */
export function liftPauseIfChanged({ hash, release }: PauseBasis, context: RestartContext): void {
  const { state, restarts } = context;
  const hold = state.upgrade.get()?.end === "stranded" ? undefined : state.hold.get();
  const isUpgraded = release !== undefined && hold?.desired.release !== undefined && release !== hold.desired.release;
  if (hold !== undefined && (hold.desired.hash !== hash || isUpgraded)) {
    const why = isUpgraded ? "the node's version changed" : "the desired state changed";
    liftPause({ why, by: "sidecar" }, context);
  }
  const { message } = state.hold.get() ?? {};
  restarts.note({ hold: message === undefined ? "none" : { message } });
}

/** Lifts the pause and, unless the node has recovered, retries the restart that led to it. Returns what happens next, for the operator. */
export function liftPause(
  { why, by }: Readonly<{ why: string; /** `sidecar`, or how an operator requested it. */ by: string }>,
  { state, events, health, clock }: RestartContext,
): string {
  const { failed: failedRestart, message: pauseMessage } = state.hold.get() ?? {};
  const retries = failedRestart !== undefined && !hasRecovered(failedRestart, health.current());
  const upgrade = state.upgrade.get();
  const stranded = upgrade?.end === "stranded" ? upgrade : undefined;
  const then =
    stranded === undefined ? describeNext(failedRestart, retries) : describeNextOfStranded(stranded, retries);
  state.atomically(() => {
    state.hold.set(undefined);
    // The upgrade continues on its own; a restart in parallel would start the node between two versions.
    if (stranded !== undefined) {
      state.upgrade.set(decideAfterPause(stranded, !retries, clock.wallMs()));
    } else if (retries) state.retry.set({ ...failedRestart, why, isRequested: by !== "sidecar" });
    const auditChange = { by, outcome: "success", before: { hold: pauseMessage }, after: {} } as const;
    events.add("hold", `Gatehouse resumed: ${why}. ${then}`, undefined, auditChange);
  });
  return then;
}

function describeNext(failedRestart: FailedRestart | undefined, retries: boolean): string {
  if (failedRestart === undefined)
    return "The node had recovered with the restored configuration, so nothing is retried.";
  return retries
    ? `The failed restart of the node is retried (${failedRestart.reason}).`
    : "The node has recovered in the meantime, so nothing is retried.";
}

function describeNextOfStranded({ from, to }: UpgradeRecord, retries: boolean): string {
  if (!retries)
    return `The node responds again, so the upgrade to ${to} counts as resolved manually, and nothing is retried.`;
  return `The rollback from ${to} to ${from} is retried from the beginning: stop, binaries, node.conf, data, start.`;
}

/** Whether the node has more blocks than when it failed or, on an idle chain, responds again at all. */
export function hasRecovered({ height: heightBefore, isDown }: FailedRestart, health: RpcState): boolean {
  const { height, failure } = health;
  if (!hasBeenPolled(health) || failure !== undefined || height === undefined) return false;
  if (heightBefore === undefined || height > heightBefore) return true;
  return height === heightBefore && isDown === true && isIdle(health);
}
