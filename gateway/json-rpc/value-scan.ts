import {
  createUnlimitedBudget,
  notJson,
  skipEscape,
  skipPlain,
  skipSpace,
  skipValue,
  type ScanBudget,
} from "./json-scanner.ts";

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** State at the scan's offset: at the start of a value, inside a string that is a value or a key, or after a value. */
type Position = "value" | "string" | "key" | "next";

/**
 * Scans JSON values one by one, like `skipValue`, but in steps, because scanning a long value at once would block everything else.
 * The text is trusted, and its reader limits the length.
 */
export class ValueScan {
  readonly #bytes: Uint8Array;
  readonly #budget: ScanBudget = createUnlimitedBudget();
  /** Closing brackets of the open containers. */
  readonly #closers: Uint8Array;
  #open = 0;
  #at = 0;
  #position: Position = "value";

  /**
   * @param maxDepth Max nesting depth of a value.
   */
  constructor(bytes: Uint8Array, maxDepth: number) {
    this.#bytes = bytes;
    this.#closers = new Uint8Array(maxDepth);
  }

  /** Starts with the value at `at`, which must have no whitespace before it. */
  begin(at: number): void {
    this.#at = at;
    this.#open = 0;
    this.#position = "value";
  }

  /** Current offset of the scan. */
  get at(): number {
    return this.#at;
  }

  /** Continues the scan for about `stepBytes` bytes. Returns undefined if there is more to scan, otherwise the offset after the value, or {@link notJson}. */
  step(stepBytes: number): number | undefined {
    const until = this.#at + stepBytes;
    while (this.#at < until) {
      if (!this.#proceed(until)) return notJson;
      if (this.#position === "next" && this.#open === 0) return this.#at;
    }
    return undefined;
  }

  #proceed(until: number): boolean {
    if (this.#position === "value") return this.#readValue();
    return this.#position === "next" ? this.#readNext() : this.#readString(until);
  }

  #readValue(): boolean {
    const bytes = this.#bytes;
    const code = bytes[this.#at];
    if (code === quote) {
      this.#at += 1;
      this.#position = "string";
      return true;
    }
    if (code === openBrace || code === openBracket) return this.#openContainer(code);
    // A scalar contains no nesting.
    const end = skipValue(bytes, this.#at, 0, this.#budget);
    this.#position = "next";
    if (end !== notJson) this.#at = end;
    return end !== notJson;
  }

  #openContainer(code: number): boolean {
    if (this.#open >= this.#closers.length) return false;
    const closer = code === openBrace ? closeBrace : closeBracket;
    this.#at = skipSpace(this.#bytes, this.#at + 1);
    if (this.#bytes[this.#at] === closer) {
      this.#at += 1;
      this.#position = "next";
      return true;
    }
    this.#closers[this.#open] = closer;
    this.#open += 1;
    return this.#beginEntry(closer);
  }

  /** Starts an object member at its key, or an array element at its value. */
  #beginEntry(closer: number | undefined): boolean {
    this.#position = "value";
    if (closer !== closeBrace) return true;
    if (this.#bytes[this.#at] !== quote) return false;
    this.#at += 1;
    this.#position = "key";
    return true;
  }

  #readString(until: number): boolean {
    const bytes = this.#bytes;
    this.#at = skipPlain(bytes, this.#at, until);
    if (this.#at >= until) return true;
    const code = bytes[this.#at];
    if (code === backslash) {
      const end = skipEscape(bytes, this.#at + 1);
      if (end !== notJson) this.#at = end;
      return end !== notJson;
    }
    if (code !== quote) return false;
    this.#at += 1;
    if (this.#position === "string") {
      this.#position = "next";
      return true;
    }
    const separator = skipSpace(bytes, this.#at);
    if (bytes[separator] !== colon) return false;
    this.#at = skipSpace(bytes, separator + 1);
    this.#position = "value";
    return true;
  }

  #readNext(): boolean {
    const closer = this.#closers[this.#open - 1];
    this.#at = skipSpace(this.#bytes, this.#at);
    const code = this.#bytes[this.#at];
    if (code === comma) {
      this.#at = skipSpace(this.#bytes, this.#at + 1);
      return this.#beginEntry(closer);
    }
    if (code !== closer) return false;
    this.#open -= 1;
    this.#at += 1;
    return true;
  }
}
