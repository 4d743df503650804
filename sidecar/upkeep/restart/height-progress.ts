import type { Clock } from "#daemon/clock.ts";
import type { BlockCadence } from "#health/block-pace.ts";
import type { RpcState } from "#health/rpc-state.ts";

/** Time for which a node must respond without a failure if no new block can show that it has recovered. */
const respondingMinMs = 1_000;

export type HeightProgress = ReturnType<typeof createHeightProgress>;

/** Creates empty evidence; every check must be passed to `see`. */
export function createHeightProgress(clock: Clock) {
  let hasAdvanced = false;
  let commandDone = false;
  let doneMs = 0;
  let respondingSinceMs: number | undefined;
  let firstResponseMs: number | undefined;
  let cadence: BlockCadence | undefined;
  let idleAt: number | undefined;
  let hasReferences = false;
  let wasDown = false;
  let isDown = false;
  let last: number | undefined;
  let heightBefore: number | undefined;
  let baseline: number | undefined;
  return {
    restarted: () => {
      commandDone = true;
      doneMs = clock.monotonicMs();
    },
    isRestarted: () => commandDone,
    see: (health: RpcState) => {
      const { failure, height } = health;
      hasReferences = health.reference !== undefined;
      if (!commandDone) ({ cadence, idleAt } = health);
      isDown = failure !== undefined;
      if (isDown) {
        respondingSinceMs = undefined;
        if (!wasDown) {
          baseline = last;
          // The responses so far came from the old process.
          firstResponseMs = undefined;
        }
        wasDown = true;
        return;
      }
      last = height;
      if (commandDone) firstResponseMs ??= clock.monotonicMs();
      if (!commandDone) heightBefore = height ?? heightBefore;
      if (!commandDone || height === undefined) return;
      baseline ??= height;
      respondingSinceMs ??= clock.monotonicMs();
      const holds =
        height >= Math.max(baseline, heightBefore ?? 0) && clock.monotonicMs() - respondingSinceMs >= respondingMinMs;
      hasAdvanced ||= height > baseline || (holds && isIdleSince(health, { height, cadence, restartedAtMs: doneMs }));
    },
    advanced: () => hasAdvanced,
    /** Returns the time of the node's first response after the restart (monotonic); undefined before the first response. */
    answeredAtMs: () => firstResponseMs,
    /** Whether the node responds with the head at which the chain was already idle when first watched. */
    isIdleAsBefore: () => {
      const isResponding =
        respondingSinceMs !== undefined && clock.monotonicMs() - respondingSinceMs >= respondingMinMs;
      const rests = heightBefore !== undefined && idleAt === heightBefore && last === heightBefore;
      return isResponding && rests && !hasReferences && cadence === "unknown";
    },
    isAnswering: () => firstResponseMs !== undefined && !isDown,
    /** Whether any check, starting with the one before the restart, got no response. */
    wasDown: () => wasDown,
    describe: () => {
      if (firstResponseMs === undefined || last === undefined) return "its RPC did not respond";
      return isDown ? "its RPC stopped responding and its height did not advance" : `its height stayed at ${last}`;
    },
  };
}

/**
 * Whether the chain has no new block for the node to report, according to the references or, without any, to the block rate before the
 * restart.
 */
function isIdleSince(
  { reference }: RpcState,
  {
    height,
    cadence,
    restartedAtMs,
  }: Readonly<{ height: number; cadence: BlockCadence | undefined; restartedAtMs: number }>,
): boolean {
  if (reference === undefined) return cadence === "irregular";
  const isLater = reference.requestedAtMs >= restartedAtMs;
  return isLater && reference.height !== undefined && reference.height <= height;
}
