import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

export type MemoryBudgetOptions = Readonly<{ totalBytes: number; addressBytes: number; connectionBytes: number }>;

/** Cached responses, which are evicted first. */
export type Evictable = Readonly<{ bytes: () => number; evict: (bytes: number) => void }>;

const emptyCache: Evictable = { bytes: () => 0, evict: () => undefined };

/** Something that holds memory: a connection, which is closed when its memory is needed elsewhere. */
export type MemoryHolder = Readonly<{
  bytes: number;
  /** Whether the client has to read pending output, or to send the rest of its input. */
  isWaiting: boolean;
  /** Value of a counter shared by all holders, at this client's last progress, or when the wait for it started. */
  progress: number;
  cut: () => void;
}>;

/** Share of the total that an address may hold and still be admitted when the limit is reached, and the margin above the limit for such addresses. */
const littleShare = 1 / 64;
const marginRatio = 1 / 8;

type Share = { bytes: number; readonly holders: Set<MemoryHolder> };

/**
 * Counts the bytes held for clients: incomplete requests, calls in flight, unread responses. Limited per connection, per address (IPv6 by
 * /64) and in total; the cache counts towards the total and is evicted first.
 */
export class MemoryBudget {
  readonly options: MemoryBudgetOptions;
  readonly #cache: Evictable;
  readonly #shares = new Map<string, Share>();
  #bytes = 0;
  #progress = 0;

  constructor(options: MemoryBudgetOptions, { cache = emptyCache }: Readonly<{ cache?: Evictable }> = {}) {
    this.options = options;
    this.#cache = cache;
  }

  get bytes(): number {
    return this.#bytes;
  }

  nextProgress(): number {
    this.#progress += 1;
    return this.#progress;
  }

  /** Checks whether an address may hold that many more bytes; evicts from the cache to make space. */
  hasRoom(address: string, bytes: number): boolean {
    const own = this.#shares.get(address)?.bytes ?? 0;
    return own + bytes <= this.options.addressBytes && this.#hasRoomInAll(bytes);
  }

  /**
   * Disconnects the slowest clients until that many bytes are free. If no candidate is left, an address that holds little gets the bytes
   * from a margin. Otherwise, clients whose responses are still being collected could leave no memory for another client's short message.
   */
  createRoom(address: string, bytes: number, requester: MemoryHolder): boolean {
    while (!this.hasRoom(address, bytes)) {
      const own = this.#shares.get(address)?.bytes ?? 0;
      // Don't free memory for an address over its own limit; its requests are rejected.
      if (own + bytes > this.options.addressBytes) return false;
      const slowestHolder = this.#slowest(requester);
      if (slowestHolder === undefined) return this.#hasMargin(own + bytes, bytes);
      slowestHolder.cut();
    }
    return true;
  }

  /** Charges bytes to a holder, or releases them if negative. */
  add(address: string, holder: MemoryHolder, bytes: number): void {
    const share = this.#shares.get(address) ?? { bytes: 0, holders: new Set() };
    if (share.bytes === 0) this.#shares.set(address, share);
    share.bytes += bytes;
    this.#bytes += bytes;
    if (holder.bytes > 0) share.holders.add(holder);
    else share.holders.delete(holder);
    if (share.bytes === 0) this.#shares.delete(address);
  }

  #hasMargin(ownBytes: number, bytes: number): boolean {
    const { totalBytes } = this.options;
    return ownBytes <= totalBytes * littleShare && this.#bytes + bytes <= totalBytes * (1 + marginRatio);
  }

  #hasRoomInAll(bytes: number): boolean {
    const excess = this.#bytes + bytes + this.#cache.bytes() - this.options.totalBytes;
    if (excess > 0) this.#cache.evict(excess);
    return this.#bytes + bytes + this.#cache.bytes() <= this.options.totalBytes;
  }

  /** Finds, among addresses with at least an average share, the connection whose client has made no progress for the longest time. */
  #slowest(requester: MemoryHolder): MemoryHolder | undefined {
    const part = this.#bytes / this.#shares.size;
    let slowestHolder: MemoryHolder | undefined;
    for (const { bytes, holders } of this.#shares.values()) {
      if (bytes < part) continue;
      for (const holder of holders) {
        if (holder === requester || !holder.isWaiting) continue;
        if (holder.progress < (slowestHolder?.progress ?? Number.POSITIVE_INFINITY)) slowestHolder = holder;
      }
    }
    return slowestHolder;
  }
}

/** The memory settings, each with a default derived from the machine. */
export type MemorySettings = Readonly<{
  totalBytes?: number | undefined;
  addressBytes?: number | undefined;
  connectionBytes?: number | undefined;
}>;

/** Memory that the process may use: that of the machine or container, and that of its own heap. */
export type MemoryLimits = Readonly<{ processBytes: number; heapBytes: number }>;

const bytesMax = 1_073_741_824;

export function readMemoryLimits(): MemoryLimits {
  return { processBytes: readProcessMemoryBytes(), heapBytes: getHeapStatistics().heap_size_limit };
}

/** Returns the bytes of memory that this process may use: its control group's limit, or the machine's memory. */
function readProcessMemoryBytes(): number {
  const constrainedBytes = process.constrainedMemory();
  const total = totalmem();
  // Without a control group limit, the value is 0, or more than any machine has.
  return constrainedBytes > 0 ? Math.min(constrainedBytes, total) : total;
}

/**
 * Derives the memory limits for clients. Held bytes may briefly be in memory twice, as bytes and as text in the heap, and the rest of the
 * process takes about 130 MiB: a quarter of 512 MiB, and a quarter of the heap, leave space for all three.
 */
export function deriveMemoryBounds(settings: MemorySettings, limits: MemoryLimits): MemoryBudgetOptions {
  const whole = Math.floor(Math.min(limits.processBytes / 4, limits.heapBytes / 4, bytesMax));
  const totalBytes = settings.totalBytes ?? whole;
  return {
    totalBytes,
    addressBytes: settings.addressBytes ?? Math.floor(totalBytes / 2),
    connectionBytes: settings.connectionBytes ?? Math.floor(totalBytes / 4),
  };
}
