/** Max number of texts retained; beyond that, all are dropped. */
const most = 1_024;

/**
 * Message heads that differ only in the body's length, each of which is built once. A text that is concatenated for each message has to be
 * flattened when it is written, which takes longer than writing it.
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
    // The copy is a flat string.
    const text = Buffer.from(this.#format(lengthBytes), "latin1").toString("latin1");
    this.#texts.set(lengthBytes, text);
    return text;
  }
}
