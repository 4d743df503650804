import type { Logger } from "#daemon/log.ts";
import { pause } from "#daemon/time.ts";

/** How blocks are made. */
export type BlockProductionOptions = Readonly<{ blockTimeMs: number }>;

/** What a producer needs. */
export type BlockProductionParts = Readonly<{
  /** Makes a block and all that belongs to it. */
  produce: () => Promise<void>;
  now: () => number;
  log: Logger;
}>;

/**
 * Makes a block at every full `blockTimeMs` of the wall clock, so that the chain's time never runs away from it: under load
 * blocks become fuller, not more. A failed block is logged and tried again at the next one's time. Disposing of it waits for
 * the block under way.
 */
export function startBlockProduction(options: BlockProductionOptions, parts: BlockProductionParts): AsyncDisposable {
  const stop = new AbortController();
  const running = produceBlocks(options, parts, stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

async function produceBlocks(
  { blockTimeMs }: BlockProductionOptions,
  { produce, now, log }: BlockProductionParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await pause(blockTimeMs - (now() % blockTimeMs), signal);
    if (signal.aborted) return;
    try {
      await produce();
    } catch (error) {
      log.error({ err: error }, "no block was made; trying again at the next block's time");
    }
  }
}
