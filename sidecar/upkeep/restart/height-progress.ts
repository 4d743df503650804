import type { Clock } from "#daemon/clock.ts";
import type { BlockRhythm } from "#health/block-pace.ts";
import type { NodeHealth } from "#health/node-health.ts";

/** Time for which a node has to answer without a failure when no new block can prove that it came back. */
const answersForMs = 1_000;

/** Evidence from the heights before, during and after a restart. */
export type HeightProgress = Readonly<{
  /** Notes that the restart command has ended. */
  restarted: () => void;
  isRestarted: () => boolean;
  see: (health: NodeHealth) => void;
  advanced: () => boolean;
  /** Returns the time of the node's first answer after the restart (monotonic); undefined before it. */
  answeredAtMs: () => number | undefined;
  /** Whether the node answers with the head at which the chain was at rest before it was watched for long. */
  restsAsBefore: () => boolean;
  /** Whether the last look since the restart was answered. */
  isAnswering: () => boolean;
  /** Whether any look, from the one before the restart on, gave no answer. */
  wasDown: () => boolean;
  /** Describes how far the node came, for a message that goes on with the time allowed. */
  describe: () => string;
}>;

/** Creates the evidence, with nothing known; every look is handed to `see`. */
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
          // The answers until now came from the old process.
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

/** Whether the chain has no new block that the node could show, by the references or, without any, by the rhythm of blocks before the restart. */
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
