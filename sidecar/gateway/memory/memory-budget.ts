/** Bounds of what is held for clients. */
export type MemoryBudgetOptions = Readonly<{ totalBytes: number; addressBytes: number; connectionBytes: number }>;

/** What gives way first: answers that are kept to be used again. */
export type GivingWay = Readonly<{ bytes: () => number; giveUp: (bytes: number) => void }>;

/** Who holds bytes: a connection, and how it is ended when its bytes are needed. */
export type MemoryHolder = Readonly<{ bytes: number; cut: () => void }>;

/** What the connections of one address hold together; who began to hold first comes first. */
type Share = { bytes: number; readonly holders: Set<MemoryHolder> };

/**
 * Counts the bytes that are held for clients: requests that are not whole, calls under way, answers that wait to be taken. Bounded by
 * connection, by address (IPv6 by /64) and in all; the cache counts in all and gives way.
 */
export class MemoryBudget {
  readonly options: MemoryBudgetOptions;
  readonly #cache: GivingWay;
  readonly #shares = new Map<string, Share>();
  #bytes = 0;

  constructor(options: MemoryBudgetOptions, { cache }: Readonly<{ cache: GivingWay }>) {
    this.options = options;
    this.#cache = cache;
  }

  /** Bytes that are held for clients, without the cache's. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether so many bytes more of an address are within the bounds; the cache gives way for them. */
  hasRoom(address: string, bytes: number): boolean {
    const own = this.#shares.get(address)?.bytes ?? 0;
    return own + bytes <= this.options.addressBytes && this.#hasRoomInAll(bytes);
  }

  /** Cuts off who holds most and longest until so many bytes are free; false when nobody is left whose end would free them. */
  makeRoom(address: string, bytes: number, asking: MemoryHolder): boolean {
    while (!this.hasRoom(address, bytes)) {
      const own = this.#shares.get(address)?.bytes ?? 0;
      // Room of the address itself is not made: its own requests are refused.
      if (own + bytes > this.options.addressBytes) return false;
      const slowest = this.#slowest(asking);
      if (slowest === undefined) return false;
      slowest.cut();
    }
    return true;
  }

  /** Counts bytes of a holder that holds them from now on, or, negative, no more. */
  add(address: string, holder: MemoryHolder, bytes: number): void {
    const share = this.#shares.get(address) ?? { bytes: 0, holders: new Set() };
    if (share.bytes === 0) this.#shares.set(address, share);
    share.bytes += bytes;
    this.#bytes += bytes;
    if (holder.bytes > 0) share.holders.add(holder);
    else share.holders.delete(holder);
    if (share.bytes === 0) this.#shares.delete(address);
  }

  #hasRoomInAll(bytes: number): boolean {
    const excess = this.#bytes + bytes + this.#cache.bytes() - this.options.totalBytes;
    if (excess > 0) this.#cache.giveUp(excess);
    return this.#bytes + bytes + this.#cache.bytes() <= this.options.totalBytes;
  }

  /** Of the address that holds most, the connection that has held longest. */
  #slowest(asking: MemoryHolder): MemoryHolder | undefined {
    let heaviest: Share | undefined;
    for (const share of this.#shares.values()) if (share.bytes > (heaviest?.bytes ?? 0)) heaviest = share;
    for (const holder of heaviest?.holders ?? []) if (holder !== asking) return holder;
    return undefined;
  }
}
