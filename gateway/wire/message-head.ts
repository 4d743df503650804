import { memoize } from "#daemon/memoize.ts";

export const headEnd = Buffer.from("\r\n\r\n");

/** The head of an HTTP message: the bytes before the value of its Content-Length, and the bytes after it. */
export type MessageHead = Readonly<{ before: Uint8Array; after: Uint8Array }>;

export type BodyLocation = Readonly<{ startsAt: number; lengthBytes: number }>;

const zero = 0x30;
const nine = 0x39;
/** Max digits of a length that is parsed here; a head with a longer length counts as unknown. */
const maxDigits = 9;
const lengthDigits = /(?<name>\r\ncontent-length: ?)\d+(?=\r)/i;
const contentLength = /\r\ncontent-length: ?/gi;

/** Stores a head, including its empty line; returns undefined unless it has exactly one Content-Length. */
export function createMessageHead(head: string): MessageHead | undefined {
  const [match, ...otherLengths] = head.matchAll(contentLength);
  if (match === undefined || otherLengths.length > 0) return undefined;
  const start = match.index + match[0].length;
  return { before: toBytes(head.slice(0, start)), after: toBytes(head.slice(head.indexOf("\r\n", start))) };
}

/** Max number of shared heads, and max length of each. */
const sharedLimits = { max: 64, nameLength: 2_048 };

export type KeepMessageHead = typeof createMessageHead;

/** Creates a store that shares one object among heads that differ only in length; compared that often, it stays in the CPU's caches. */
export function shareMessageHeads(): KeepMessageHead {
  const keep = memoize(sharedLimits, (text) => ({ head: createMessageHead(text) }));
  return (head) => keep(head.replace(lengthDigits, "$<name>0")).head;
}

/**
 * Finds the body if these bytes start with the same head, regardless of the body's length; otherwise returns undefined. A client sends the
 * same head again and again, and so does a node while its Date stays within the same second: only the length changes.
 */
export function findBodyLocation(bytes: Buffer, { before, after }: MessageHead): BodyLocation | undefined {
  if (!hasAt(bytes, 0, before)) return undefined;
  const start = before.length;
  let lengthBytes = 0;
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte >= zero && byte <= nine; byte = bytes[at]) {
    lengthBytes = lengthBytes * 10 + (byte - zero);
    at += 1;
    if (at - start > maxDigits) return undefined;
  }
  const hasLeadingZero = bytes[start] === zero && at - start > 1;
  if (at === start || hasLeadingZero || !hasAt(bytes, at, after)) return undefined;
  return { startsAt: at + after.length, lengthBytes };
}

export function beginsWith(bytes: Buffer, part: Uint8Array): boolean {
  return hasAt(bytes, 0, part);
}

/** Returns the bytes of a binary string in a separate allocation: a slice of the pool that small buffers share would keep the whole pool alive. */
export function toBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

function hasAt(bytes: Buffer, offset: number, part: Uint8Array): boolean {
  const { length } = part;
  if (bytes.length < offset + length) return false;
  for (let at = 0; at < length; at += 1) if (bytes[offset + at] !== part[at]) return false;
  return true;
}

/** Max number of texts retained; beyond that, all are dropped. */
const maxTexts = 1_024;

/** Message heads that differ only in the body's length, each built once: flattening a concatenated string costs more than writing it. */
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
    if (this.#texts.size >= maxTexts) this.#texts.clear();
    // The copy is a flat string.
    const text = Buffer.from(this.#format(lengthBytes), "latin1").toString("latin1");
    this.#texts.set(lengthBytes, text);
    return text;
  }
}
