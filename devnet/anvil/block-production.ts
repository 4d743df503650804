import type { Logger } from "#daemon/log/log.ts";
import { pause } from "#daemon/time.ts";

export type BlockProductionOptions = Readonly<{ blockTimeMs: number }>;

export type BlockProductionParts = Readonly<{
  /** Mines a block and does all work that belongs to it. */
  produce: () => Promise<void>;
  now: () => number;
  log: Logger;
}>;

/**
 * Mines a block at every multiple of `blockTimeMs` on the wall clock, so that the chain's time never runs ahead: under load, blocks get
 * fuller, not more frequent. Logs a failed block and retries at the next block time. Disposing of it waits for the block in progress.
 */
export function startBlockProduction(options: BlockProductionOptions, parts: BlockProductionParts): AsyncDisposable {
  const stop = new AbortController();
  const running = makeBlocks(options, parts, stop.signal);
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

async function makeBlocks(
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
      log.error({ event: "block-not-made", err: error }, "no block was produced; retrying at the next block time");
    }
  }
}
