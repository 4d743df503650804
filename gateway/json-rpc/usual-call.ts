import type { Call } from "./call.ts";

/** Offsets of a call within its message's text. */
export type CallLocation = Readonly<{
  startsAt: number;
  endsAt: number;
  paramsAt: number;
  /** Number of parameters, and the offset of the last one. */
  paramsCount: number;
  lastParamAt: number;
}>;

/**
 * A call in a batch, in the usual form: byte for byte what `formatCall` would produce from its parts, with a plain integer as id. Its texts
 * are sliced from the message lazily, which for most calls means never.
 */
export class TypicalCall implements Call {
  readonly id: string;
  readonly method: string;
  /** The `hashKey` of the call's key. */
  readonly hash: number;
  readonly kib: number;
  /** The whole message, and the offsets of the call within it. */
  readonly text: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly #paramsAt: number;
  readonly #paramsCount: number;
  readonly #lastParamAt: number;

  constructor(
    text: string,
    id: string,
    method: string,
    hash: number,
    { startsAt, endsAt, paramsAt, paramsCount, lastParamAt }: CallLocation,
  ) {
    this.id = id;
    this.method = method;
    this.hash = hash;
    this.kib = (endsAt - startsAt) >>> 10;
    this.text = text;
    this.startsAt = startsAt;
    this.endsAt = endsAt;
    this.#paramsAt = paramsAt;
    this.#paramsCount = paramsCount;
    this.#lastParamAt = lastParamAt;
  }

  get params(): string {
    return this.text.slice(this.#paramsAt, this.endsAt - 1);
  }

  get paramsBytes(): number {
    return this.endsAt - 1 - this.#paramsAt;
  }

  get wire(): string {
    return this.text.slice(this.startsAt, this.endsAt);
  }

  /** Whether the parameter at `index` is the last one and equals this JSON text. */
  hasLastParam(index: number, json: string): boolean {
    const isLast = this.#paramsCount === index + 1 && this.endsAt - 2 - this.#lastParamAt === json.length;
    return isLast && this.text.startsWith(json, this.#lastParamAt);
  }
}
