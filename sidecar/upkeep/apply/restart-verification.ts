import type { Clock } from "../../clock.ts";
import { pause } from "../../poll.ts";
import type { BlockRhythm } from "../../health/block-pace.ts";
import type { NodeHealth } from "../../health/node-health.ts";
import type { RestartReport } from "../drivers/driver.ts";
import type { PushLook } from "../observe/push-watch.ts";

/** Whether a node came back. */
export type Verification = Readonly<{ ok: true; tookMs: number } | { ok: false; message: string }>;

/** What the proof needs. */
export type VerificationOptions = Readonly<{
  /** Deadline for the height to advance, counted from the end of the restart command. */
  healthyWithinMs: number;
  /** Deadline for metrics, counted likewise. */
  metricsWithinMs: number;
  signal: AbortSignal;
}>;

export type VerificationDependencies = Readonly<{
  clock: Clock;
  look: (signal: AbortSignal) => Promise<NodeHealth>;
  /** Asks for the node's last push; undefined when metrics are not checked. */
  lastPush: ((signal: AbortSignal) => Promise<PushLook>) | undefined;
}>;

/** Looks are close together at first, because a node may be back within a second, and then less so. */
const quickLookMs = 25;
const slowLookMs = 250;
const quickForMs = 5_000;

/** For how long a node has to answer without a failure when no new block can prove that it came back. */
const answersForMs = 1_000;

/**
 * Restarts a node and proves that it came back: the RPC answers, the height is above the last one that the old process
 * answered (or, when it was never seen down, above the first one after the restart), and metrics arrive again. Where the chain has no
 * block to make, the height of before is proof enough: the references have none after it, asked once the node was back, or, without
 * references, blocks had not come steadily before either. A chain that was not watched for long and whose latest block was old before that
 * is given all of the time to make one; then the same head is proof, too. Metrics that the node
 * is not to push, or that a Pushgateway that can't be asked may have, say nothing against it.
 */
export async function restartAndVerify(
  restart: () => Promise<RestartReport>,
  options: VerificationOptions,
  { clock, look, lastPush }: VerificationDependencies,
): Promise<Verification> {
  const beganMs = clock.monotonicMs();
  const pushBefore = await lastPush?.(options.signal);
  const progress = heightProgress(clock);
  progress.see(await look(options.signal));
  const ended = new AbortController();
  const watching = watchHeight(progress, look, clock, AbortSignal.any([options.signal, ended.signal]));
  try {
    const { complaint } = await restart();
    const said = complaint === undefined ? "" : ` (the restart command said: ${complaint})`;
    progress.restarted();
    const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(options.healthyWithinMs)]);
    while (!progress.advanced() && !deadline.aborted) await pause(quickLookMs, deadline);
    if (!progress.advanced() && !progress.restsAsBefore())
      return { ok: false, message: `${progress.describe(options.healthyWithinMs)}${said}` };
    // A command that complains and ends with status 0 may have left the old process as it was.
    if (complaint !== undefined && !progress.wasDown()) {
      return { ok: false, message: `it was not restarted: it never stopped answering${said}` };
    }
  } finally {
    ended.abort();
    await watching;
  }
  if (lastPush !== undefined && (await pushIsMissing(pushBefore, lastPush, options))) {
    return { ok: false, message: `no metrics reached the Pushgateway within ${options.metricsWithinMs} ms` };
  }
  return { ok: true, tookMs: clock.monotonicMs() - beganMs };
}

/** What the heights before, during and after a restart prove. */
type HeightProgress = Readonly<{
  /** The restart command has ended. */
  restarted: () => void;
  see: (health: NodeHealth) => void;
  advanced: () => boolean;
  /** Whether the node answers with the head at which the chain was at rest before it was watched for long. */
  restsAsBefore: () => boolean;
  /** Whether a look since before the restart gave no answer. */
  wasDown: () => boolean;
  describe: (withinMs: number) => string;
}>;

function heightProgress(clock: Clock): HeightProgress {
  let advanced = false;
  let commandDone = false;
  let doneMs = 0;
  let answersSinceMs: number | undefined;
  let rhythm: BlockRhythm | undefined;
  let restingAt: number | undefined;
  let hasReferences = false;
  let wasDown = false;
  let isDown = false;
  let last: number | undefined;
  let before: number | undefined;
  let baseline: number | undefined;
  return {
    restarted: () => {
      commandDone = true;
      doneMs = clock.monotonicMs();
    },
    see: (health) => {
      const { failure, height } = health;
      hasReferences = health.reference !== undefined;
      if (!commandDone) ({ rhythm, restingAt } = health);
      isDown = failure !== undefined;
      if (isDown) {
        answersSinceMs = undefined;
        if (!wasDown) baseline = last;
        wasDown = true;
        return;
      }
      last = height;
      if (!commandDone) before = height ?? before;
      if (!commandDone || height === undefined) return;
      baseline ??= height;
      answersSinceMs ??= clock.monotonicMs();
      const holds = height >= Math.max(baseline, before ?? 0) && clock.monotonicMs() - answersSinceMs >= answersForMs;
      advanced ||= height > baseline || (holds && isAtRest(health, { height, rhythm, restartedAtMs: doneMs }));
    },
    advanced: () => advanced,
    restsAsBefore: () => {
      const answers = answersSinceMs !== undefined && clock.monotonicMs() - answersSinceMs >= answersForMs;
      const rests = before !== undefined && restingAt === before && last === before;
      return answers && rests && !hasReferences && rhythm === "unknown";
    },
    wasDown: () => wasDown,
    describe: (withinMs) => {
      const state = last === undefined || isDown ? "its RPC did not answer" : `its height stayed ${last}`;
      return `${state} within ${withinMs} ms after the restart`;
    },
  };
}

/** Whether the chain has no block that the node could show: so say the references, or, without any, the time before the restart. */
function isAtRest(
  { reference }: NodeHealth,
  {
    height,
    rhythm,
    restartedAtMs,
  }: Readonly<{ height: number; rhythm: BlockRhythm | undefined; restartedAtMs: number }>,
): boolean {
  if (reference === undefined) return rhythm === "irregular";
  const isLater = reference.askedAtMs >= restartedAtMs;
  return isLater && reference.height !== undefined && reference.height <= height;
}

async function watchHeight(
  progress: HeightProgress,
  look: VerificationDependencies["look"],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const beganMs = clock.monotonicMs();
  while (!signal.aborted) {
    const health = await look(signal);
    if (!signal.aborted) progress.see(health);
    await pause(clock.monotonicMs() - beganMs < quickForMs ? quickLookMs : slowLookMs, signal);
  }
}

/** Whether the last answer within the time limit was that of a Pushgateway without a new push of the node. */
async function pushIsMissing(
  before: PushLook | undefined,
  lastPush: (signal: AbortSignal) => Promise<PushLook>,
  options: VerificationOptions,
): Promise<boolean> {
  const deadline = AbortSignal.any([options.signal, AbortSignal.timeout(options.metricsWithinMs)]);
  const beforeSeconds = before?.state === "pushed" ? before.lastPushSeconds : undefined;
  let isMissing = false;
  while (!deadline.aborted) {
    const now = await lastPush(deadline);
    if (now.state === "notPushing") return false;
    // Another time than before, not a later one: the Pushgateway's clock may have been set back meanwhile.
    if (now.state === "pushed" && now.lastPushSeconds !== beforeSeconds) return false;
    // A look that the time limit cut off tells nothing.
    if (!deadline.aborted) isMissing = now.state !== "unreachable";
    await pause(slowLookMs, deadline);
  }
  return isMissing;
}
