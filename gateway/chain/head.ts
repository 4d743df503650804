/** Known head of the chain. */
export type ChainHead = Readonly<{ latest: bigint; finalized: bigint | undefined }>;

/** A block at the head of the chain. `madeAtMs` is the block's own timestamp, in milliseconds since 1970. */
export type HeadBlock = Readonly<{ number: bigint; hash: string; madeAtMs?: number | undefined }>;

/**
 * What the gateway knows about the chain's head. `generation` counts changes to it: data read in one generation is discarded with that
 * generation, even if a reorganisation restores an earlier head block.
 */
export type Head = Readonly<{
  /** Returns the head while it is fresh, else undefined. */
  known: () => ChainHead | undefined;
  generation: () => number;
  /** Records that the node reported this block as the head. */
  advance: (block: HeadBlock) => void;
  /** Records that the node reported this block as final. */
  finalize: (number: bigint) => void;
  /** Resets everything known, because the node, or the connection to it, may have been replaced. */
  lose: () => void;
  /** Returns the milliseconds since the node last reported its head; infinite before the first report. */
  ageMs: () => number;
  /**
   * Returns the age of the head block by its own timestamp or, if it has none, the time since the block was first reported. Returns
   * undefined while the head is unknown.
   */
  blockAgeMs: () => number | undefined;
}>;

/** Creates a head that advances with the node's reports. */
export function createHead(
  options: Readonly<{ staleAfterMs: number }>,
  { now, wallClock }: Readonly<{ now: () => number; wallClock: () => number }>,
): Head {
  let known: ChainHead | undefined;
  let hash = "";
  let generation = 0;
  let learntAt = Number.NEGATIVE_INFINITY;
  let madeAt = 0;
  const isFresh = () => now() - learntAt <= options.staleAfterMs;
  return {
    known: () => (isFresh() ? known : undefined),
    generation: () => {
      if (known !== undefined && !isFresh()) {
        known = undefined;
        generation += 1;
      }
      return generation;
    },
    advance: (block) => {
      learntAt = now();
      if (known !== undefined && block.hash === hash) return;
      hash = block.hash;
      // The block's timestamp is compared with the wall clock only once, because the clock may be adjusted later.
      madeAt = learntAt - Math.max(0, block.madeAtMs === undefined ? 0 : wallClock() - block.madeAtMs);
      known = { latest: block.number, finalized: known?.finalized };
      generation += 1;
    },
    finalize: (number) => {
      if (known !== undefined) known = { latest: known.latest, finalized: number };
    },
    lose: () => {
      known = undefined;
      hash = "";
      learntAt = Number.NEGATIVE_INFINITY;
      generation += 1;
    },
    ageMs: () => now() - learntAt,
    blockAgeMs: () => (known === undefined || !isFresh() ? undefined : now() - madeAt),
  };
}

/**
 * Whether the node can answer for the network's chain. `behind`: the node responds but lags behind the network's head; `anotherChain`: it
 * is on another chain; `chainUnknown`: it has not reported its chain yet; `down`: it does not respond.
 */
export type NodeFitness = "fit" | "behind" | "anotherChain" | "chainUnknown" | "down";
