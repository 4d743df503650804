/** Sizes of the smallest and largest buffers: longer messages get their own memory. */
const bytesMin = 16_384;
const bytesMax = 131_072;

/** Reusable buffers, in powers of two. If a message can't be sent at once, its buffer belongs to the message from then on. */
export class ScratchBuffers {
  /** One released buffer of each size. */
  readonly #free = new Map<number, Buffer | undefined>();

  /** Returns a buffer of this length with arbitrary content. The caller owns the buffer until `release`, which need not be called. */
  acquire(length: number): Buffer {
    const size = computeSize(length);
    if (size > bytesMax) return Buffer.allocUnsafeSlow(length);
    const buffer = this.#free.get(size) ?? Buffer.allocUnsafeSlow(size);
    this.#free.set(size, undefined);
    return buffer.subarray(0, length);
  }

  /** Releases an acquired buffer, which must not be read afterwards. */
  release(acquired: Buffer): void {
    const { buffer } = acquired;
    const size = buffer.byteLength;
    if (size < bytesMin || size > bytesMax || size !== computeSize(size)) return;
    if (this.#free.get(size) === undefined) this.#free.set(size, Buffer.from(buffer));
  }
}

function computeSize(length: number): number {
  let size = bytesMin;
  while (size < length) size *= 2;
  return size;
}
