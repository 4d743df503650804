import { isDigit } from "../json-rpc/json-scanner.ts";

/**
 * The ids (JSON text) of a batch's calls. Most clients count theirs: an integer larger than all before it is a new one, and no set of
 * them is kept until an id comes that is not.
 */
export class BatchIds {
  /** Ids that came before there was a set. */
  readonly #counted: string[] = [];
  #largest = "";
  #all: Set<string> | undefined;
  /** The last id that was found to be larger: it is looked for, and then added. */
  #larger: string | undefined;

  has(id: string): boolean {
    if (this.#all === undefined && this.#isLarger(id)) {
      this.#larger = id;
      return false;
    }
    this.#all ??= new Set(this.#counted);
    return this.#all.has(id);
  }

  add(id: string): void {
    if (this.#all === undefined && (id === this.#larger || this.#isLarger(id))) {
      this.#larger = undefined;
      this.#largest = id;
      this.#counted.push(id);
    } else {
      this.#all ??= new Set(this.#counted);
      this.#all.add(id);
    }
  }

  /** Whether an id is an integer larger than all before it, as is seen from its digits: parsed as a number a long one would take longer. */
  #isLarger(id: string): boolean {
    const { length } = id;
    const more = length - this.#largest.length;
    if (more < 0 || (more === 0 && id <= this.#largest) || (length > 1 && id.startsWith("0"))) return false;
    for (let at = 0; at < length; at += 1) if (!isDigit(id.charCodeAt(at))) return false;
    return true;
  }
}
