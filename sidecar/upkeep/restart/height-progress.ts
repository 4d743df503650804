import type { Clock } from "#daemon/clock.ts";
import type { BlockRhythm } from "#health/block-pace.ts";
import type { NodeHealth } from "#health/node-health.ts";

/** Time for which a node must respond without a failure if no new block can show that it has recovered. */
const answersForMs = 1_000;

/** Evidence from the node's heights before, during and after a restart. */
export type HeightProgress = Readonly<{
  /** Records that the restart command has exited. */
  restarted: () => void;
  isRestarted: () => boolean;
  see: (health: NodeHealth) => void;
  advanced: () => boolean;
  /** Returns the time of the node's first response after the restart (monotonic); undefined before the first response. */
  answeredAtMs: () => number | undefined;
  /** Whether the node responds with the same head at which the chain was already idle, before it had been watched for long. */
  restsAsBefore: () => boolean;
  /** Whether the last check since the restart got a response. */
  isAnswering: () => boolean;
  /** Whether any check, starting with the one before the restart, got no response. */
  wasDown: () => boolean;
  /** Describes the node's progress, for a message to which the time limit is appended. */
  describe: () => string;
}>;

/** Creates empty evidence; every check must be passed to `see`. */
export function createHeightProgress(clock: Clock): HeightProgress {
  let advanced = false;
  let commandDone = false;
  let doneMs = 0;
  let answersSinceMs: number | undefined;
  let firstAnswerMs: number | undefined;
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
    isRestarted: () => commandDone,
    see: (health) => {
      const { failure, height } = health;
      hasReferences = health.reference !== undefined;
      if (!commandDone) ({ rhythm, restingAt } = health);
      isDown = failure !== undefined;
      if (isDown) {
        answersSinceMs = undefined;
        if (!wasDown) {
          baseline = last;
          // The responses so far came from the old process.
          firstAnswerMs = undefined;
        }
        wasDown = true;
        return;
      }
      last = height;
      if (commandDone) firstAnswerMs ??= clock.monotonicMs();
      if (!commandDone) before = height ?? before;
      if (!commandDone || height === undefined) return;
      baseline ??= height;
      answersSinceMs ??= clock.monotonicMs();
      const holds = height >= Math.max(baseline, before ?? 0) && clock.monotonicMs() - answersSinceMs >= answersForMs;
      advanced ||= height > baseline || (holds && isAtRestSince(health, { height, rhythm, restartedAtMs: doneMs }));
    },
    advanced: () => advanced,
    answeredAtMs: () => firstAnswerMs,
    restsAsBefore: () => {
      const answers = answersSinceMs !== undefined && clock.monotonicMs() - answersSinceMs >= answersForMs;
      const rests = before !== undefined && restingAt === before && last === before;
      return answers && rests && !hasReferences && rhythm === "unknown";
    },
    isAnswering: () => firstAnswerMs !== undefined && !isDown,
    wasDown: () => wasDown,
    describe: () => {
      if (firstAnswerMs === undefined || last === undefined) return "its RPC did not answer";
      return isDown ? "its RPC stopped answering and its height did not advance" : `its height stayed ${last}`;
    },
  };
}

/** Whether the chain has no new block that the node could report, according to the references or, without references, to the block rate before the restart. */
function isAtRestSince(
  { reference }: NodeHealth,
  {
    height,
    rhythm,
    restartedAtMs,
  }: Readonly<{ height: number; rhythm: BlockRhythm | undefined; restartedAtMs: number }>,
): boolean {
  if (reference === undefined) return rhythm === "irregular";
  const isLater = reference.requestedAtMs >= restartedAtMs;
  return isLater && reference.height !== undefined && reference.height <= height;
}
