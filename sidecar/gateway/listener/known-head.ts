import type { RequestFacts } from "./request-facts.ts";

/** A head that was read: what comes before the number of its Content-Length, what comes after it, and what it says beside. */
export type KnownHead = Readonly<{ before: Buffer; after: Buffer; facts: RequestFacts }>;

/** Where the request that begins with a known head has its body. */
export type BodyPlace = Readonly<{ startsAt: number; lengthBytes: number }>;

const zero = 0x30;
const nine = 0x39;
/** As many digits as the fast path reads of a length. */
const mostDigits = 9;
const contentLength = /\r\ncontent-length: ?/i;

/** Keeps a head that the fast path has read, and which therefore has exactly one Content-Length. */
export function knownHead(head: string, facts: RequestFacts): KnownHead {
  const match = contentLength.exec(head);
  const start = match === null ? 0 : match.index + match[0].length;
  const end = head.indexOf("\r\n", start);
  return { before: Buffer.from(head.slice(0, start), "latin1"), after: Buffer.from(head.slice(end), "latin1"), facts };
}

/**
 * Where the body is when these bytes begin with the same head, whatever its length; undefined when they do not. A client sends one
 * head again and again, and only the length of what it asks for changes.
 */
export function placeOfBody(bytes: Buffer, { before, after }: KnownHead): BodyPlace | undefined {
  if (!hasAt(bytes, 0, before)) return undefined;
  const start = before.length;
  let lengthBytes = 0;
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte >= zero && byte <= nine; byte = bytes[at]) {
    lengthBytes = lengthBytes * 10 + (byte - zero);
    at += 1;
    if (at - start > mostDigits) return undefined;
  }
  const hasLeadingZero = bytes[start] === zero && at - start > 1;
  if (at === start || hasLeadingZero || !hasAt(bytes, at, after)) return undefined;
  return { startsAt: at + after.length, lengthBytes };
}

function hasAt(bytes: Buffer, offset: number, part: Buffer): boolean {
  const { length } = part;
  if (bytes.length < offset + length) return false;
  for (let at = 0; at < length; at += 1) if (bytes[offset + at] !== part[at]) return false;
  return true;
}
