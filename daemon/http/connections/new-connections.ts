/** Addresses that are remembered; of more the ones that made none for longest are forgotten. */
const rememberedMost = 100_000;
const msOfSecond = 1_000;

/** How fast addresses make connections. Only those are remembered that have made some within their burst's time. */
export class NewConnections {
  readonly #stepMs: number;
  readonly #burstMs: number;
  readonly #clock: () => number;
  /** When each will have its whole burst again; who made a connection last stands last. */
  readonly #settledAtMs = new Map<string, number>();

  /** An address that has made none for long makes `burst` at once: a page, or a client that comes back, makes many and then none. */
  constructor({ perSecond, burst }: Readonly<{ perSecond: number; burst: number }>, clock: () => number) {
    this.#stepMs = msOfSecond / perSecond;
    this.#burstMs = burst * this.#stepMs;
    this.#clock = clock;
  }

  /** Whether an address may make one more now, which then counts. What is refused does not. */
  mayMake(address: string): boolean {
    const nowMs = this.#clock();
    const settledAtMs = Math.max(nowMs, this.#settledAtMs.get(address) ?? nowMs);
    if (settledAtMs + this.#stepMs - nowMs > this.#burstMs) return false;
    this.#settledAtMs.delete(address);
    this.#settledAtMs.set(address, settledAtMs + this.#stepMs);
    this.#forget(nowMs);
    return true;
  }

  #forget(nowMs: number): void {
    for (const [address, settledAtMs] of this.#settledAtMs) {
      if (settledAtMs > nowMs && this.#settledAtMs.size <= rememberedMost) return;
      this.#settledAtMs.delete(address);
    }
  }
}
