/** Sizes of the smallest and largest buffers: longer messages get their own memory. */
const bytesMin = 16_384;
const bytesMax = 131_072;

/** Reusable buffers, in powers of two. If a message can't be sent at once, its buffer belongs to the message from then on. */
export class ScratchBuffers {
  readonly #free = new Map<number, Buffer[]>();
  readonly #keptOfSize: number;

  /** `keptOfSize` is the number of buffers retained per size. */
  constructor(keptOfSize = 1) {
    this.#keptOfSize = keptOfSize;
  }

  /** Returns a buffer of this length with arbitrary content. The caller owns the buffer until `release`, which need not be called. */
  acquire(length: number): Buffer {
    const size = computeSize(length);
    if (size > bytesMax) return Buffer.allocUnsafeSlow(length);
    const buffer = this.#free.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);
    return buffer.subarray(0, length);
  }

  /** Releases an acquired buffer, which must not be read afterwards. */
  release(acquired: Buffer): void {
    const { buffer } = acquired;
    const size = buffer.byteLength;
    if (size < bytesMin || size > bytesMax || size !== computeSize(size)) return;
    const free = this.#free.get(size) ?? [];
    this.#free.set(size, free);
    if (free.length < this.#keptOfSize) free.push(Buffer.from(buffer));
  }
}

function computeSize(length: number): number {
  let size = bytesMin;
  while (size < length) size *= 2;
  return size;
}
