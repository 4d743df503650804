/**
 * The ids (JSON text) of a batch's calls. Most clients count theirs: what is a larger number than all before it is none of them, and no set of
 * them is kept until an id comes that is not.
 */
export class BatchIds {
  /** Those that came before there was a set. */
  readonly #counted: string[] = [];
  #largest = Number.NEGATIVE_INFINITY;
  #all: Set<string> | undefined;

  has(id: string): boolean {
    if (this.#all === undefined && Number(id) > this.#largest) return false;
    this.#all ??= new Set(this.#counted);
    return this.#all.has(id);
  }

  add(id: string): void {
    const number = Number(id);
    if (this.#all === undefined && number > this.#largest) {
      this.#largest = number;
      this.#counted.push(id);
    } else {
      this.#all ??= new Set(this.#counted);
      this.#all.add(id);
    }
  }
}
