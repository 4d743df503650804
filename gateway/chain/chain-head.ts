/** Known head of the chain. */
export type ChainHead = Readonly<{ latest: bigint; finalized: bigint | undefined }>;

/** A block at the head of the chain. `madeAtMs` is the block's own timestamp, in milliseconds since 1970. */
export type HeadBlock = Readonly<{ number: bigint; hash: string; madeAtMs?: number | undefined }>;

/**
 * What the gateway knows about the chain's head, from the node's reports. `generation` counts changes to it: data read in one generation is
 * discarded with that generation, even if a reorganization restores an earlier head block.
 */
export class HeadTracker {
  readonly #staleAfterMs: number;
  readonly #now: () => number;
  readonly #wallClock: () => number;
  #known: ChainHead | undefined;
  #hash = "";
  #generation = 0;
  #learntAt = Number.NEGATIVE_INFINITY;
  #madeAt = 0;

  constructor(
    { staleAfterMs }: Readonly<{ staleAfterMs: number }>,
    { now, wallClock }: Readonly<{ now: () => number; wallClock: () => number }>,
  ) {
    this.#staleAfterMs = staleAfterMs;
    this.#now = now;
    this.#wallClock = wallClock;
  }

  /** Returns the head while it is fresh, else undefined. */
  known(): ChainHead | undefined {
    return this.#isFresh() ? this.#known : undefined;
  }

  generation(): number {
    if (this.#known !== undefined && !this.#isFresh()) {
      this.#known = undefined;
      this.#generation += 1;
    }
    return this.#generation;
  }

  /** Records that the node reported this block as the head. */
  advance({ number, hash, madeAtMs }: HeadBlock): void {
    this.#learntAt = this.#now();
    if (this.#known !== undefined && hash === this.#hash) return;
    this.#hash = hash;
    // The block's timestamp is compared with the wall clock only once, because the clock may be adjusted later.
    this.#madeAt = this.#learntAt - Math.max(0, madeAtMs === undefined ? 0 : this.#wallClock() - madeAtMs);
    this.#known = { latest: number, finalized: this.#known?.finalized };
    this.#generation += 1;
  }

  /** Records that the node reported this block as final. */
  finalize(number: bigint): void {
    if (this.#known !== undefined) this.#known = { latest: this.#known.latest, finalized: number };
  }

  /** Resets all state, because the node, or the connection to it, may have been replaced. */
  reset(): void {
    this.#known = undefined;
    this.#hash = "";
    this.#learntAt = Number.NEGATIVE_INFINITY;
    this.#generation += 1;
  }

  /** Returns the milliseconds since the node last reported its head; infinite before the first report. */
  ageMs(): number {
    return this.#now() - this.#learntAt;
  }

  /**
   * Returns the age of the head block by its own timestamp or, if it has none, the time since the block was first reported. Returns
   * undefined while the head is unknown.
   */
  blockAgeMs(): number | undefined {
    return this.known() === undefined ? undefined : this.#now() - this.#madeAt;
  }

  #isFresh(): boolean {
    return this.ageMs() <= this.#staleAfterMs;
  }
}

/**
 * Whether the node can serve the network's chain. `behind`: the node responds but lags behind the network's head;
 * `anotherChain`: it is on another chain; `chainUnknown`: it has not reported its chain yet; `down`: it does not
 * respond.
 */
export type NodeFitness = "fit" | "behind" | "anotherChain" | "chainUnknown" | "down";
