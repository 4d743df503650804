import { getHeapStatistics } from "node:v8";
import { readProcessMemoryBytes } from "../process/process-memory.ts";

/** Bounds of what is held for clients. */
export type MemoryBudgetOptions = Readonly<{ totalBytes: number; addressBytes: number; connectionBytes: number }>;

/** Answers that are kept to be used again, which give way first. */
export type GivingWay = Readonly<{ bytes: () => number; giveUp: (bytes: number) => void }>;

const nothingKept: GivingWay = { bytes: () => 0, giveUp: () => undefined };

/** Holder of bytes: a connection, which is cut when its bytes are needed. */
export type MemoryHolder = Readonly<{
  bytes: number;
  /** Whether its client has to take something, or to send the rest of it. */
  isWaiting: boolean;
  /** Counts up with all holders: when its client was last seen to take something, or to begin to be waited for. */
  progress: number;
  cut: () => void;
}>;

/** Share of all memory up to which an address is let in when all is full, and the margin above all that is held for such addresses. */
const littleShare = 1 / 64;
const marginShare = 1 / 8;

/** Bytes held by all connections of one address. */
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
  #progress = 0;

  constructor(options: MemoryBudgetOptions, { cache = nothingKept }: Readonly<{ cache?: GivingWay }> = {}) {
    this.options = options;
    this.#cache = cache;
  }

  /** Bytes that are held for clients, without the cache's. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The count of what clients have taken. */
  nextProgress(): number {
    this.#progress += 1;
    return this.#progress;
  }

  /** Whether that many more bytes of an address are within the bounds; the cache gives way for them. */
  hasRoom(address: string, bytes: number): boolean {
    const own = this.#shares.get(address)?.bytes ?? 0;
    return own + bytes <= this.options.addressBytes && this.#hasRoomInAll(bytes);
  }

  /**
   * Cuts off the slowest until so many bytes are free. Where nobody is left whose end would free them, an address that holds little has
   * them from a margin: callers whose answers are being collected wait for the node and not for themselves, and what they hold must not
   * refuse another's short message.
   */
  createRoom(address: string, bytes: number, requester: MemoryHolder): boolean {
    while (!this.hasRoom(address, bytes)) {
      const own = this.#shares.get(address)?.bytes ?? 0;
      // Room of the address itself is not made: its own requests are refused.
      if (own + bytes > this.options.addressBytes) return false;
      const slowest = this.#slowest(requester);
      if (slowest === undefined) return this.#hasMargin(own + bytes, bytes);
      slowest.cut();
    }
    return true;
  }

  /** Counts bytes that a holder holds from now on, or, if negative, no longer holds. */
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
    return ownBytes <= totalBytes * littleShare && this.#bytes + bytes <= totalBytes * (1 + marginShare);
  }

  #hasRoomInAll(bytes: number): boolean {
    const excess = this.#bytes + bytes + this.#cache.bytes() - this.options.totalBytes;
    if (excess > 0) this.#cache.giveUp(excess);
    return this.#bytes + bytes + this.#cache.bytes() <= this.options.totalBytes;
  }

  /** Finds, of the addresses that hold their part or more, the connection whose client has taken nothing for longest. */
  #slowest(requester: MemoryHolder): MemoryHolder | undefined {
    const part = this.#bytes / this.#shares.size;
    let slowest: MemoryHolder | undefined;
    for (const { bytes, holders } of this.#shares.values()) {
      if (bytes < part) continue;
      for (const holder of holders) {
        if (holder === requester || !holder.isWaiting) continue;
        if (holder.progress < (slowest?.progress ?? Number.POSITIVE_INFINITY)) slowest = holder;
      }
    }
    return slowest;
  }
}

/** The settings, each with a default that follows from the machine. */
export type MemorySettings = Readonly<{
  totalBytes?: number | undefined;
  addressBytes?: number | undefined;
  connectionBytes?: number | undefined;
}>;

/** Memory that the process may use: of the machine or the container, and of its own heap. */
export type MemoryLimits = Readonly<{ processBytes: number; heapBytes: number }>;

const mostBytes = 1_073_741_824;

/** Reads the limits of this process. */
export function readMemoryLimits(): MemoryLimits {
  return { processBytes: readProcessMemoryBytes(), heapBytes: getHeapStatistics().heap_size_limit };
}

/**
 * Derives the bounds of what is held for clients. Held bytes may stand in memory twice for a moment, as bytes and as
 * text in the heap, and the rest of the process takes about 130 MiB: a quarter of 512 MiB, and of the heap, leaves room
 * for all three.
 */
export function deriveMemoryBounds(settings: MemorySettings, limits: MemoryLimits): MemoryBudgetOptions {
  const whole = Math.floor(Math.min(limits.processBytes / 4, limits.heapBytes / 4, mostBytes));
  const totalBytes = settings.totalBytes ?? whole;
  return {
    totalBytes,
    addressBytes: settings.addressBytes ?? Math.floor(totalBytes / 2),
    connectionBytes: settings.connectionBytes ?? Math.floor(totalBytes / 4),
  };
}
