import { createTimeoutSignal, pause, waitUntil } from "#daemon/time.ts";
import type { RestartReport } from "../drivers/driver.ts";
import type { PushCheck } from "../pushgateway/push-watch.ts";
import { createHeightProgress, type HeightProgress } from "./height-progress.ts";
import { prepareProcessCheck, watchProcess, type ProcessChecker } from "./process-watch.ts";
import type { RestartContext } from "./restart-context.ts";

/** `hasEnded`: whether the process exited, as far as is known. */
export type Verification = Readonly<
  { ok: true; tookMs: number } | { ok: false; message: string; hasEnded?: boolean | undefined }
>;

export type Restart = Readonly<{
  command: () => Promise<RestartReport>;
  /** Whether an earlier sidecar ran the command, and so watched the process. */
  isAlreadyCommanded?: boolean;
  /** Checks the node's process; default: as its driver can. */
  checkProcess?: ProcessChecker | undefined;
}>;

/** Interval between checks at first, because a node may recover within a second; later checks are less frequent. */
const fastCheckMs = 25;
const slowCheckMs = 250;
const quickForMs = 5_000;

/**
 * Restarts a node and verifies it: the RPC responds, the height exceeds the old process's last one (if it was never seen down: the first
 * one since), and metrics arrive. If the chain may have no new block, the same head suffices: references queried since have no later one,
 * or blocks were irregular before. A chain that was idle when first watched gets the full time. Metrics count only if the node pushes and
 * the Pushgateway can be queried.
 */
export async function restartAndVerify(restart: Restart, context: RestartContext): Promise<Verification> {
  const { settings, clock, health, driver, lastPush, signal } = context;
  const beganMs = clock.monotonicMs();
  reportStage(undefined, context);
  const checkProcess = restart.checkProcess ?? (driver && (await prepareProcessCheck(driver)));
  const pushBefore = await lastPush?.(signal);
  const progress = createHeightProgress(clock);
  progress.see(await health.check(signal));
  const ended = new AbortController();
  const watching = watchHeight(progress, context, AbortSignal.any([signal, ended.signal]));
  try {
    const { failureOutput } = await restart.command();
    const said = failureOutput === undefined ? "" : ` (the restart command printed: ${failureOutput})`;
    progress.restarted();
    const { within, hasEnded } = await waitForHeight(progress, checkProcess, restart, context);
    if (!progress.advanced() && !progress.isIdleAsBefore()) {
      return { ok: false, message: `${progress.describe()} ${within}${said}`, hasEnded };
    }
    // A command that writes to standard error and exits with status 0 may have left the old process running.
    if (failureOutput !== undefined && !progress.wasDown()) {
      return { ok: false, message: `it was not restarted: it never stopped responding${said}` };
    }
  } finally {
    ended.abort();
    await watching;
  }
  if (lastPush === undefined) return { ok: true, tookMs: clock.monotonicMs() - beganMs };
  const { metricsWithinMs } = settings.restart;
  const until = new Date(clock.wallMs() + metricsWithinMs).toISOString();
  reportStage(`It responds and advances; waiting for its next metrics push until ${until}.`, context);
  if (await isPushMissing(pushBefore, lastPush, metricsWithinMs, signal)) {
    return { ok: false, message: `no metrics reached the Pushgateway within ${metricsWithinMs} ms` };
  }
  return { ok: true, tookMs: clock.monotonicMs() - beganMs };
}

/** Shows what a restart is waiting for, and until when; nothing during the command itself. */
export function reportStage(stage: string | undefined, { restarts, wake }: RestartContext): void {
  restarts.note({ stage });
  wake();
}

/**
 * Waits for a response (as long as a log replay takes, unless the process exited), then for the height. Time during which this process was
 * suspended doesn't count.
 */
async function waitForHeight(
  progress: HeightProgress,
  checkProcess: ProcessChecker | undefined,
  { isAlreadyCommanded = false }: Restart,
  context: RestartContext,
): Promise<Readonly<{ within: string; hasEnded: boolean }>> {
  const { clock, signal } = context;
  const { answersWithinMs, healthyWithinMs } = context.settings.restart;
  const doneMs = clock.monotonicMs();
  await using process = watchProcess(checkProcess, { hasRun: !isAlreadyCommanded, signal });
  const findStage = () => {
    const answeredMs = progress.answeredAtMs();
    if (answeredMs !== undefined) {
      const within = `within ${healthyWithinMs} ms of its first response`;
      return { untilMs: answeredMs + healthyWithinMs, within, waits: answers };
    }
    if (!process.hasEnded()) {
      return {
        untilMs: doneMs + answersWithinMs,
        within: `within ${answersWithinMs} ms of the restart`,
        waits: silent,
      };
    }
    const ms = Math.min(healthyWithinMs, answersWithinMs);
    return { untilMs: doneMs + ms, within: `within ${ms} ms of the restart: its process exited`, waits: ended };
  };
  let reported: string | undefined;
  let stalledMs = 0;
  for (;;) {
    const { untilMs: countedUntilMs, within, waits } = findStage();
    const untilMs = countedUntilMs + stalledMs;
    const nowMs = clock.monotonicMs();
    if (progress.advanced() || signal.aborted || nowMs >= untilMs) {
      return { within, hasEnded: process.hasEnded() && !progress.isAnswering() };
    }
    const { text, setting } = waits;
    if (text !== reported)
      reportStage(`${text} ${new Date(clock.wallMs() + untilMs - nowMs).toISOString()} (${setting}).`, context);
    reported = text;
    await pause(fastCheckMs, signal);
    stalledMs += Math.max(0, clock.monotonicMs() - nowMs - slowCheckMs);
  }
}

const silent = {
  text: "It was started and does not respond yet; it has until",
  setting: "restart.answersWithinMs",
};
const ended = { text: "Its process exited; it may recover until", setting: "restart.healthyWithinMs" };
const answers = { text: "It responds; its height must advance by", setting: "restart.healthyWithinMs" };

async function watchHeight(
  progress: HeightProgress,
  { health: { check }, clock }: RestartContext,
  signal: AbortSignal,
): Promise<void> {
  const beganMs = clock.monotonicMs();
  while (!signal.aborted) {
    const wasRestarted = progress.isRestarted();
    const health = await check(signal);
    // The response to an earlier check may have come from the old process.
    if (!signal.aborted && wasRestarted === progress.isRestarted()) progress.see(health);
    await pause(clock.monotonicMs() - beganMs < quickForMs ? fastCheckMs : slowCheckMs, signal);
  }
}

/** Waits for a new push from the node. Returns whether the last response within the time limit came from a Pushgateway that has no new push. */
async function isPushMissing(
  before: PushCheck | undefined,
  lastPush: NonNullable<RestartContext["lastPush"]>,
  withinMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = AbortSignal.any([signal, createTimeoutSignal(withinMs)]);
  const beforeSeconds = before?.state === "pushed" ? before.lastPushSeconds : undefined;
  let isMissing = false;
  while (!deadline.aborted) {
    const now = await lastPush(deadline);
    if (now.state === "notPushing") return false;
    // Checks that the time differs, not that it is later, because the Pushgateway's clock may have been set back.
    if (now.state === "pushed" && now.lastPushSeconds !== beforeSeconds) return false;
    // A check cut off by the time limit proves nothing.
    if (!deadline.aborted) isMissing = now.state !== "unreachable";
    await pause(slowCheckMs, deadline);
  }
  return isMissing;
}

/** Max response time of a node that the start command couldn't start, possibly because it was already running. */
const maxAnswerMs = 5_000;
const checkAgainMs = 250;

/** Waits up to five seconds for a node that couldn't be started, because another program or user may have started it. */
export async function waitForResponse(
  signal: AbortSignal,
  { settings, clock, health: { check } }: RestartContext,
): Promise<boolean> {
  const hasAnswered = async () => (await check(signal)).failure === undefined;
  const withinMs = Math.min(maxAnswerMs, settings.restart.healthyWithinMs);
  return await waitUntil(hasAnswered, Boolean, { everyMs: checkAgainMs, withinMs, signal }, clock);
}
