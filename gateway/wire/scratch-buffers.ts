/** The smallest buffer, and the largest: longer messages get memory of their own. */
const leastBytes = 16_384;
const mostBytes = 131_072;

/**
 * Memory in which one message after another is put together. A buffer whose message was not sent at once belongs to it from then on: its
 * size is a power of two, so that what is held is never more than twice what is counted.
 */
export class ScratchBuffers {
  readonly #free = new Map<number, Buffer[]>();
  readonly #keptOfSize: number;

  /** `keptOfSize` is how many are kept of each size. */
  constructor(keptOfSize = 1) {
    this.#keptOfSize = keptOfSize;
  }

  /** A buffer of this length, of which anything may be the content. It is the caller's until `giveBack`, if ever. */
  take(length: number): Buffer {
    const size = sizeFor(length);
    if (size > mostBytes) return Buffer.allocUnsafeSlow(length);
    const buffer = this.#free.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);
    return buffer.subarray(0, length);
  }

  /** Nobody reads what `take` gave any more. */
  giveBack(taken: Buffer): void {
    const { buffer } = taken;
    const size = buffer.byteLength;
    if (size < leastBytes || size > mostBytes || size !== sizeFor(size)) return;
    const free = this.#free.get(size) ?? [];
    this.#free.set(size, free);
    if (free.length < this.#keptOfSize) free.push(Buffer.from(buffer));
  }
}

function sizeFor(length: number): number {
  let size = leastBytes;
  while (size < length) size *= 2;
  return size;
}
