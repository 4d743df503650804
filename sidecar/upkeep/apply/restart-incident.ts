import { meaningOf } from "../plan/config-meaning.ts";
import type { Logger } from "#daemon/log.ts";
import type { Clock } from "../../clock.ts";
import { pause } from "../../poll.ts";
import type { EventLog } from "../../tell/event-log.ts";
import type { NodeDriver, RestartReport } from "../drivers/driver.ts";
import { DriverError, incarnationOf, StartFailed } from "../drivers/driver.ts";
import { contentHashOf, readConfigFile } from "../observe/config-file.ts";
import type { CommandWords } from "../command-words.ts";
import { tiesOf } from "../state/config-ties.ts";
import type { RestartBudget } from "../state/restart-budget.ts";
import type { HeldState, RestartInFlight, UpkeepState } from "../state/upkeep-state.ts";
import type { ConfigVersions } from "./config-versions.ts";
import { writeConfig } from "./config-writer.ts";
import { restorable } from "./restorable.ts";
import { restartAndVerify, type Verification, type VerificationDependencies } from "./restart-verification.ts";
import type { WriterLock } from "./writer-lock.ts";

/** One restart, from the command to the proof, with its roll-back. */
export type RestartIncident = Readonly<{
  reason: string;
  /** Whether an earlier sidecar made the restart, so that only its proof is missing. */
  isMade: boolean;
  /** Whether an earlier sidecar began it and may have left the node down. */
  isFinishing: boolean;
  /** For the hold. */
  desired: HeldState;
  configPath: string;
  configLimitBytes: number;
  answersWithinMs: number;
  healthyWithinMs: number;
  metricsWithinMs: number;
  signal: AbortSignal;
}>;

export type RestartIncidentDependencies = VerificationDependencies &
  Readonly<{
    driver: NodeDriver;
    state: UpkeepState;
    budget: RestartBudget;
    versions: ConfigVersions;
    lock: WriterLock;
    events: EventLog;
    clock: Clock;
    command: CommandWords;
    log: Logger;
  }>;

/** How long a node that the start command could not start may take to answer, if somebody else started it. */
const startedElsewhereMs = 5_000;
const lookAgainMs = 250;

/**
 * Restarts the node. If it does not come back, the last configuration that it was healthy with is restored, the node is
 * restarted once more, and a hold is set, whether that helped or not. Everything is on disk before it is done, so that a sidecar
 * killed at any point goes on where it was.
 */
export async function runRestart(incident: RestartIncident, dependencies: RestartIncidentDependencies): Promise<void> {
  const { state, budget, events } = dependencies;
  const before = await readConfigFile(incident.configPath, incident.configLimitBytes);
  if (!incident.isMade) {
    await enter("commanded", incident, dependencies);
    budget.record(incident.reason);
    state.nodeHas.set(before.ok ? meaningOf(before.document) : "unknown");
    events.add("restart", `Restarting the node (${dependencies.driver.name}): ${incident.reason}.`);
  }
  const verified = await attempt(incident, incident.isMade, dependencies);
  if (incident.signal.aborted) return;
  if (verified.ok) {
    // The proof is made: a state directory that can't be written must not have it made again and again.
    state.restartInFlight.set(undefined);
    if (before.ok) state.nodeTies.set(tiesOf(before.document, incident.configPath));
    events.add("restart", `The node is back and advances after ${Math.round(verified.tookMs)} ms.`);
    if (before.ok) await rememberHealthy(before.bytes, dependencies);
    return;
  }
  await rollBack(incident, verified.message, dependencies);
  if (incident.signal.aborted) return;
  state.restartInFlight.set(undefined);
}

async function rememberHealthy(
  bytes: Uint8Array,
  { versions, events, log }: RestartIncidentDependencies,
): Promise<void> {
  try {
    await versions.remember("healthy", bytes);
  } catch (error) {
    log.error({ err: error }, "the healthy configuration could not be kept; look at upkeep.stateDirectory");
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    events.add(
      "restart",
      `The healthy configuration could not be kept (${why}): a roll-back would restore an earlier one. Make upkeep.stateDirectory writable.`,
    );
  }
}

async function enter(
  phase: RestartInFlight["phase"],
  { reason, isFinishing, signal }: RestartIncident,
  { state, clock, driver }: RestartIncidentDependencies,
): Promise<void> {
  const incarnation = phase === "commanded" ? await incarnationOf(driver, signal) : undefined;
  state.restartInFlight.set({ reason, beganMs: clock.wallMs(), phase, isFinishing, incarnation });
}

async function attempt(
  incident: RestartIncident,
  isMade: boolean,
  dependencies: RestartIncidentDependencies,
): Promise<Verification> {
  // The command is not ended when the sidecar stops: a node that was stopped would stay down. It has its own time limit.
  const neverAborts = new AbortController().signal;
  const restart = async () => {
    const report = isMade ? {} : await restartNode(neverAborts, incident.signal, dependencies);
    await enter("verifying", incident, dependencies);
    return report;
  };
  try {
    return await restartAndVerify(restart, { ...incident, isMade }, dependencies);
  } catch (error) {
    if (error instanceof DriverError) return { ok: false, message: error.message };
    throw error;
  }
}

/**
 * Restarts the node. A person who starts it in the very moment in which it is stopped makes the start command fail; what they started has
 * read the same file, so its proof is awaited as if the command had started it.
 */
async function restartNode(
  signal: AbortSignal,
  stopping: AbortSignal,
  dependencies: RestartIncidentDependencies,
): Promise<RestartReport> {
  try {
    return await dependencies.driver.restart(signal, stopping);
  } catch (error) {
    if (!(error instanceof StartFailed) || !(await answersSoon(signal, dependencies))) throw error;
    const why = error.message.replace(/\.$/, "");
    dependencies.events.add(
      "restart",
      `The node runs although it was not started by the sidecar (${why}): somebody else did.`,
    );
    return {};
  }
}

async function answersSoon(signal: AbortSignal, { clock, look }: VerificationDependencies): Promise<boolean> {
  const untilMs = clock.monotonicMs() + startedElsewhereMs;
  while (clock.monotonicMs() < untilMs) {
    if ((await look(signal)).failure === undefined) return true;
    await pause(lookAgainMs, signal);
  }
  return false;
}

async function rollBack(
  incident: RestartIncident,
  failure: string,
  dependencies: RestartIncidentDependencies,
): Promise<void> {
  const { state, budget, events, clock, log } = dependencies;
  const hold = (message: string) => state.hold.set({ desired: incident.desired, message, sinceMs: clock.wallMs() });
  log.error({ failure }, "the node did not come back after a restart");
  hold(`The node did not come back after a restart: ${failure}.`);
  const restored = await restoreHealthy(incident, dependencies);
  events.add("roll-back", `The node did not come back: ${failure}. ${restored}`);
  if (!budget.allows("roll-back")) {
    hold(
      `The node did not come back: ${failure}. ${restored} The restart budget is used up, so it was not restarted again.`,
    );
    return;
  }
  budget.record("roll-back");
  await enter("commanded", incident, dependencies);
  const again = await attempt(incident, false, dependencies);
  if (incident.signal.aborted) return;
  const end = again.ok ? "After one more restart it is back." : `One more restart did not help: ${again.message}.`;
  hold(`The node did not come back after a restart: ${failure}. ${restored} ${end}`);
  const resume = dependencies.command("resume");
  events.add("hold", `Nothing more is done until the desired state changes or \`${resume}\` is run. ${end}`);
}

async function restoreHealthy(incident: RestartIncident, dependencies: RestartIncidentDependencies): Promise<string> {
  const { versions, state } = dependencies;
  const healthy = await versions.recall("healthy");
  if (healthy === undefined) return "There is no earlier configuration to go back to.";
  const now = await readConfigFile(incident.configPath, incident.configLimitBytes);
  if (now.contentHash === contentHashOf(healthy)) return "Its configuration is the one that it was last healthy with.";
  const judged = restorable(healthy, incident.configPath, now.ok ? now.document : undefined, state);
  if (!judged.ok) {
    return `The remembered configuration in ${state.directory} was not restored: ${judged.why}. Put node.conf right by hand.`;
  }
  const written = await writeConfig(
    {
      path: incident.configPath,
      limitBytes: incident.configLimitBytes,
      expectedHash: now.contentHash,
      expectedProblem: now.ok ? undefined : now.problem.reason,
      content: healthy,
    },
    dependencies,
  );
  if (!written.ok) return `Its last healthy configuration could not be restored: ${written.message}`;
  state.nodeHas.set(meaningOf(judged.document));
  return "Its last healthy configuration was restored.";
}
