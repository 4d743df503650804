/** What is known of the chain's head. */
export type ChainHead = Readonly<{ latest: bigint; finalized: bigint | undefined }>;

/** A block at the head of the chain; `madeAtMs` is the time that it bears, in milliseconds since 1970. */
export type HeadBlock = Readonly<{ number: bigint; hash: string; madeAtMs?: number | undefined }>;

/**
 * What the gateway knows of the head of the chain. `generation` counts its changes: what was read within one generation is
 * forgotten with it, also when a reorganisation comes back to a block that was the head before.
 */
export type Head = Readonly<{
  /** The head, while its word is fresh. */
  known: () => ChainHead | undefined;
  generation: () => number;
  /** The node said that this block is its head. */
  advance: (block: HeadBlock) => void;
  /** The node said which block is final. */
  finalize: (number: bigint) => void;
  /** The node, or the connection to it, is not what it was: nothing that was known holds. */
  lose: () => void;
  /** Milliseconds since the node last reported its head; infinite before the first time. */
  ageMs: () => number;
  /** Age of the head's block by the time that it bears, or else since it was first reported; undefined while the head is not known. */
  blockAgeMs: () => number | undefined;
}>;

/** Keeps the head as the node reports it. */
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
      // The block's own time is read once by the wall's clock, which may be set.
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
 * Whether the node can answer for the network's chain: `behind`, it answers and does not have the network's head; `anotherChain`, it
 * answers for another chain; `chainUnknown`, it has not reported yet for which; `down`, it does not answer.
 */
export type NodeFitness = "fit" | "behind" | "anotherChain" | "chainUnknown" | "down";
