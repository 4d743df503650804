/** Most texts that are kept; all are forgotten beyond that. */
const most = 1_024;

/**
 * Heads of messages that differ by the body's length alone, each put together once. A text that is put together for each message is made one
 * piece of memory again when it is written, which takes longer than to write it.
 */
export class TextsByLength {
  readonly #format: (lengthBytes: number) => string;
  readonly #texts = new Map<number, string>();

  /** `format` returns a binary string. */
  constructor(format: (lengthBytes: number) => string) {
    this.#format = format;
  }

  of(lengthBytes: number): string {
    const known = this.#texts.get(lengthBytes);
    if (known !== undefined) return known;
    if (this.#texts.size >= most) this.#texts.clear();
    // A copy is one piece.
    const text = Buffer.from(this.#format(lengthBytes), "latin1").toString("latin1");
    this.#texts.set(lengthBytes, text);
    return text;
  }
}
