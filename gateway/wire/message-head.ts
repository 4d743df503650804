import { memoize } from "#daemon/memoize.ts";

/** The empty line that ends the head of an HTTP message. */
export const headEnd = Buffer.from("\r\n\r\n");

/** The head of an HTTP message: the bytes before the number of its Content-Length, and those after it. */
export type MessageHead = Readonly<{ before: Uint8Array; after: Uint8Array }>;

/** Position of the body of a message that starts with a known head. */
export type BodyLocation = Readonly<{ startsAt: number; lengthBytes: number }>;

const zero = 0x30;
const nine = 0x39;
/** Max digits of a length parsed here: a longer length makes a head unknown. */
const maxDigits = 9;
const lengthDigits = /(?<name>\r\ncontent-length: ?)\d+(?=\r)/i;
const contentLength = /\r\ncontent-length: ?/gi;

/** Stores a head, with its empty line; undefined unless it has exactly one Content-Length. */
export function createMessageHead(head: string): MessageHead | undefined {
  const [match, ...others] = head.matchAll(contentLength);
  if (match === undefined || others.length > 0) return undefined;
  const start = match.index + match[0].length;
  return { before: toBytes(head.slice(0, start)), after: toBytes(head.slice(head.indexOf("\r\n", start))) };
}

/** Max number of shared heads, and their max length. */
const shared = { most: 64, nameLength: 2_048 };

/** Stores heads, like `createMessageHead`. */
export type KeepMessageHead = typeof createMessageHead;

/**
 * Creates a store that returns one object for all heads that differ only in length: bytes that many connections compare again and again are
 * then in one location, and stay in the processor's caches.
 */
export function shareMessageHeads(): KeepMessageHead {
  const keep = memoize(shared, (text) => ({ head: createMessageHead(text) }));
  return (head) => keep(head.replace(lengthDigits, "$<name>0")).head;
}

/**
 * Finds the body if these bytes start with the same head, whatever the body's length; otherwise undefined. A client sends the same head
 * again and again, and so does a node within a second of its Date: only the length changes.
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

/** Returns whether bytes start with this part. */
export function beginsWith(bytes: Buffer, part: Uint8Array): boolean {
  return hasAt(bytes, 0, part);
}

/** Returns the bytes of a binary string, in their own memory: a slice of the pool that small buffers share would keep all of that pool alive. */
export function toBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

function hasAt(bytes: Buffer, offset: number, part: Uint8Array): boolean {
  const { length } = part;
  if (bytes.length < offset + length) return false;
  for (let at = 0; at < length; at += 1) if (bytes[offset + at] !== part[at]) return false;
  return true;
}
