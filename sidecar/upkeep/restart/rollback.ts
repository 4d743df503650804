import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { isResponding } from "#health/rpc-state.ts";
import { hashContent } from "../config/config-file.ts";
import { replaceConfig } from "../config/config-writer.ts";
import { describeEdit } from "../config/audited-config.ts";
import { checkRestorable } from "../config/healthy-config.ts";
import type { RestartContext } from "./restart-context.ts";
import { attemptRestart, type RestartIncident } from "./restart-incident.ts";
import { isUnread, type StoredConfig, type RollBackFinding } from "./restart-observation.ts";
import { readStoredHealthy } from "./running-config.ts";

/** Restores the last healthy configuration, restarts the node once more, and pauses, whether or not that helped. */
export async function rollBack(incident: RestartIncident, failure: string): Promise<void> {
  const { state, budget, events, clock, health, place, due, command } = incident;
  const { height, failure: rpcFailure } = await health.check(incident.signal);
  if (incident.signal.aborted) return;
  const failedRestart = { reason: due.firstReason ?? due.reason, height, isDown: rpcFailure !== undefined };
  const hold = (message: string, left: typeof failedRestart | undefined = failedRestart) =>
    state.hold.set({ desired: incident.desired, message, sinceMs: clock.wallMs(), failed: left });
  const afterRestart = `The node did not recover after a restart: ${asSentence(failure)}`;
  events.begin("hold", afterRestart, undefined, { by: "sidecar" });
  hold(afterRestart);
  const ran = state.restartInFlight.get()?.ran;
  const restoreResult = await restoreHealthy(incident, failure, ran);
  const rolledBack = `The node did not recover: ${asSentence(failure)} ${restoreResult}`;
  if (!budget.allows("roll-back")) {
    const message = `${rolledBack} It was not restarted again, because ${budget.explainExhausted("roll-back")}.`;
    return state.atomically(() => {
      events.add("roll-back", message, undefined, { by: "sidecar", outcome: "failure" });
      hold(message);
      state.restartInFlight.set(undefined);
    });
  }
  events.add("roll-back", rolledBack, undefined, { by: "sidecar", outcome: "unknown" });
  const { verified, startedWith } = await attemptRestart(incident, await place.read(), "roll-back");
  if (incident.signal.aborted) return;
  const end = verified.ok ? "It recovered after one more restart." : describeSecondFailure(verified.message, failure);
  state.atomically(() => {
    hold(`${afterRestart} ${restoreResult} ${end}`, verified.ok ? undefined : failedRestart);
    if (verified.ok && startedWith !== undefined) state.startedWith.set(fingerprintConfig(startedWith.document));
    state.restartInFlight.set(undefined);
    const pauseMessage = `Gatehouse is paused until the desired state changes or you run \`${command("resume")}\`. ${end}`;
    const outcome = verified.ok ? "success" : "failure";
    events.add("hold", pauseMessage, undefined, { by: "sidecar", outcome, after: { hold: failure } });
  });
}

function describeSecondFailure(message: string, first: string): string {
  return message === first
    ? "Another restart failed for the same reason."
    : `Another restart failed: ${asSentence(message)}`;
}

/** Adds a full stop to a reason unless it already has one, as some programs' messages do. */
function asSentence(reason: string): string {
  return reason.endsWith(".") ? reason : `${reason}.`;
}

/** Returns the outcome as text. `ran`: the parsed configuration with which the node ran just before this restart. */
async function restoreHealthy(incident: RestartIncident, failure: string, ran: string | undefined): Promise<string> {
  const { place, state, versions } = incident;
  let healthyBytes: Uint8Array | undefined;
  try {
    healthyBytes = await versions.recall("healthy");
  } catch (error) {
    return `The backup in ${state.directory} can't be read (${(error as Error).message}), so no configuration was restored.`;
  }
  if (healthyBytes === undefined) return "There is no earlier configuration to restore.";
  const hash = hashContent(healthyBytes);
  const { hash: healthyHash, proof } = state.healthy.get() ?? { hash, proof: "advanced" };
  const isProved = healthyHash === hash && proof === "advanced";
  const now = await place.read();
  if (now.contentHash === hash) {
    return isProved
      ? "Its configuration is already the last healthy one."
      : "No other configuration is known: the backup equals the current one, which may never have been loaded.";
  }
  const over = { standing: now.ok ? now.document : undefined, ran };
  const restorableCheck = checkRestorable(healthyBytes, place.layout().pathsDirectory, over, state);
  if (!restorableCheck.ok) {
    return `The backup in ${state.directory} was not restored: ${restorableCheck.why}. Fix node.conf manually.`;
  }
  const what = isProved ? "Its last healthy configuration" : "The unverified node.conf from when it last responded";
  const message = `node.conf: restored to the ${isProved ? "last healthy version" : "unverified version from when the node last responded"}.`;
  const writeResult = await replaceConfig(now, healthyBytes, [{ message, why: failure }], incident);
  if (!writeResult.ok) return `${what} could not be restored: ${writeResult.message}`;
  const edit = now.ok ? describeEdit(restorableCheck.document.value, now.document.value) : "node.conf is invalid";
  const copy = writeResult.copy === undefined ? "" : `; it is saved in ${writeResult.copy}`;
  return `The failed edit: ${edit}${copy}. ${what} was restored.`;
}

export async function recordRollback(context: RestartContext): Promise<void> {
  const { state, restarts } = context;
  if (state.store.failure() !== undefined) return;
  const kept = restarts.now().kept ?? (await readStoredHealthy(context));
  restarts.note({ kept, rollBack: findRollBack(kept, context) });
}

function findRollBack({ hash, proof, failedUntilMs }: StoredConfig, context: RestartContext): RollBackFinding {
  const { settings, config, process, driver, health, state } = context;
  const { directory, nodeHas } = state;
  if (driver === undefined || settings.upkeep.mode === "observe") return { kind: "noRestarts" };
  if (failedUntilMs !== undefined) return { kind: "notKept", directory };
  if (proof === "advanced") return { kind: "advanced", directory };
  if (hash !== undefined) return { kind: "assumed", directory };
  if (!isResponding(health.facts()) && nodeHas.get() !== "unknown") return { kind: "nothing", because: "notYet" };
  const isUnreadNow = isUnread(process.now(), config.now().contentHash);
  return { kind: "nothing", because: isUnreadNow ? "unread" : "unknown" };
}
