import { isDigit } from "../json-rpc/json-scanner.ts";
import type { PieceCall } from "./piece-entry.ts";

/**
 * The ids (JSON text) of the calls in a batch. Most clients count upwards: an integer larger than all previous ids is new, so no set of ids
 * is built until an id breaks that order.
 */
export class BatchIds {
  /** Ids that arrived before the set was created. */
  readonly #counted: string[] = [];
  #largest = "";
  #all: Set<string> | undefined;
  /** The last id that was larger than all previous ones; cached between lookup and insertion. */
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

  /** Returns whether an id is an integer larger than all previous ones. Compares digits: parsing a long id as a number would be slower. */
  #isLarger(id: string): boolean {
    const { length } = id;
    const more = length - this.#largest.length;
    if (more < 0 || (more === 0 && id <= this.#largest) || (length > 1 && id.startsWith("0"))) return false;
    for (let at = 0; at < length; at += 1) if (!isDigit(id.charCodeAt(at))) return false;
    return true;
  }
}

/** Joins calls into a batch. Calls that are adjacent in the same text, separated by a comma, are sliced from it together. */
export function joinBodies(calls: readonly Pick<PieceCall, "text" | "startsAt" | "endsAt">[]): string {
  let batch = "[";
  let from = 0;
  let to = -1;
  let text = "";
  for (const call of calls) {
    if (call.startsAt !== to + 1 || call.text !== text || to === -1) {
      if (to !== -1) batch += `${text.slice(from, to)},`;
      text = call.text;
      from = call.startsAt;
    }
    to = call.endsAt;
  }
  return `${batch}${text.slice(from, to)}]`;
}
