import type { Clock } from "#daemon/clock.ts";
import { createTimeoutSignal, pause, waitUntil } from "#daemon/time.ts";
import type { RpcState } from "#health/rpc-state.ts";
import type { RestartReport } from "../drivers/driver.ts";
import type { PushCheck } from "../pushgateway/push-watch.ts";
import { createHeightProgress, type HeightProgress } from "./height-progress.ts";
import { watchProcess, type ProcessChecker } from "./process-watch.ts";

export type Verification = Readonly<
  { ok: true; tookMs: number } | { ok: false; message: string; end?: StartEnd | undefined }
>;

/** `stood`: the node stalled at its height. Absent if it didn't respond and may still be running. */
export type StartEnd = Readonly<{ kind: "ended"; afterMs: number } | { kind: "stood" }>;

/** Deadlines for the verification, in milliseconds, each counted from the end of the previous stage. */
export type VerificationOptions = Readonly<{
  /** Deadline for the RPC's first response, counted from the exit of the restart command; a node may have to replay its log first. */
  answersWithinMs: number;
  /** Deadline for the height to advance, counted from the first response. Also the deadline for a response if the node's process has exited. */
  healthyWithinMs: number;
  metricsWithinMs: number;
  isAlreadyCommanded: boolean;
  signal: AbortSignal;
}>;

export type VerificationDependencies = Readonly<{
  clock: Clock;
  check: (signal: AbortSignal) => Promise<RpcState>;
  /** Queries the node's last push; undefined when metrics aren't checked. */
  lastPush: ((signal: AbortSignal) => Promise<PushCheck>) | undefined;
  /** Prepares the check of the node's process; called before the restart. Undefined if the driver can't check it. */
  beforeRestart?: (() => Promise<ProcessChecker | undefined>) | undefined;
  /** Called at each change of stage with a description of what is awaited and the deadline; with undefined during the restart itself. */
  waitsFor?: ((stage: string | undefined) => void) | undefined;
}>;

/** Interval between checks at first, because a node may recover within a second; later checks are less frequent. */
const fastCheckMs = 25;
const slowCheckMs = 250;
const quickForMs = 5_000;

/**
 * Restarts a node and verifies it: the RPC responds, the height exceeds the old process's last one (if it was never seen down: the first one since),
 * and metrics arrive. Where the chain may have no block, the same head suffices: references queried since have no later one, or blocks were irregular
 * before. A chain that was idle when first watched gets the full time. Metrics count only if the node pushes and the Pushgateway can be queried.
 */
export async function restartAndVerify(
  restart: () => Promise<RestartReport>,
  options: VerificationOptions,
  dependencies: VerificationDependencies,
): Promise<Verification> {
  const { clock, check, lastPush, waitsFor } = dependencies;
  const beganMs = clock.monotonicMs();
  waitsFor?.(undefined);
  const lookAt = await dependencies.beforeRestart?.();
  const pushBefore = await lastPush?.(options.signal);
  const progress = createHeightProgress(clock);
  progress.see(await check(options.signal));
  const ended = new AbortController();
  const watching = watchHeight(progress, check, clock, AbortSignal.any([options.signal, ended.signal]));
  try {
    const { failureOutput } = await restart();
    const said = failureOutput === undefined ? "" : ` (the restart command printed: ${failureOutput})`;
    progress.restarted();
    const { within, end } = await waitForHeight(progress, lookAt, options, dependencies);
    if (!progress.advanced() && !progress.isIdleAsBefore()) {
      return { ok: false, message: `${progress.describe()} ${within}${said}`, end };
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
  const until = new Date(clock.wallMs() + options.metricsWithinMs).toISOString();
  waitsFor?.(`It responds and advances; waiting for its next metrics push until ${until}.`);
  if (await isPushMissing(pushBefore, lastPush, options)) {
    return { ok: false, message: `no metrics reached the Pushgateway within ${options.metricsWithinMs} ms` };
  }
  return { ok: true, tookMs: clock.monotonicMs() - beganMs };
}

/** Waits for a response (as long as a log replay takes, unless the process exited), then for the height. Time of its own suspension doesn't count. */
async function waitForHeight(
  progress: HeightProgress,
  lookAt: ProcessChecker | undefined,
  { answersWithinMs, healthyWithinMs, isAlreadyCommanded, signal }: VerificationOptions,
  { clock, waitsFor }: VerificationDependencies,
): Promise<Readonly<{ within: string; end: StartEnd | undefined }>> {
  const doneMs = clock.monotonicMs();
  await using process = watchProcess(lookAt, { hasRun: !isAlreadyCommanded, signal });
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
  let endedMs: number | undefined;
  let stoodMs = 0;
  for (;;) {
    const { untilMs: countedUntilMs, within, waits } = findStage();
    const untilMs = countedUntilMs + stoodMs;
    const nowMs = clock.monotonicMs();
    if (process.hasEnded()) endedMs ??= nowMs;
    if (progress.advanced() || signal.aborted || nowMs >= untilMs) {
      const ended = endedMs === undefined ? undefined : ({ kind: "ended", afterMs: endedMs - doneMs } as const);
      return { within, end: progress.isAnswering() ? { kind: "stood" } : ended };
    }
    const { text, setting } = waits;
    if (text !== reported)
      waitsFor?.(`${text} ${new Date(clock.wallMs() + untilMs - nowMs).toISOString()} (${setting}).`);
    reported = text;
    await pause(fastCheckMs, signal);
    stoodMs += Math.max(0, clock.monotonicMs() - nowMs - slowCheckMs);
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
  check: VerificationDependencies["check"],
  clock: Clock,
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
  lastPush: (signal: AbortSignal) => Promise<PushCheck>,
  options: VerificationOptions,
): Promise<boolean> {
  const deadline = AbortSignal.any([options.signal, createTimeoutSignal(options.metricsWithinMs)]);
  const beforeSeconds = before?.state === "pushed" ? before.lastPushSeconds : undefined;
  let isMissing = false;
  while (!deadline.aborted) {
    const now = await lastPush(deadline);
    if (now.state === "notPushing") return false;
    // Compares for a difference, not for a later time: the Pushgateway's clock may have been set back in the meantime.
    if (now.state === "pushed" && now.lastPushSeconds !== beforeSeconds) return false;
    // A check that was cut off by the time limit is not evidence.
    if (!deadline.aborted) isMissing = now.state !== "unreachable";
    await pause(slowCheckMs, deadline);
  }
  return isMissing;
}

/** Max response time of a node that the start command couldn't start because it may already be running. */
const maxAnswerMs = 5_000;
const checkAgainMs = 250;

/** Waits up to five seconds for a node that couldn't be started, because something or someone else may have started it. */
export async function waitForResponse(
  { healthyWithinMs, signal }: Pick<VerificationOptions, "healthyWithinMs" | "signal">,
  { clock, check }: Pick<VerificationDependencies, "clock" | "check">,
): Promise<boolean> {
  const hasAnswered = async () => (await check(signal)).failure === undefined;
  return await waitUntil(
    hasAnswered,
    Boolean,
    { everyMs: checkAgainMs, withinMs: Math.min(maxAnswerMs, healthyWithinMs), signal },
    clock,
  );
}
