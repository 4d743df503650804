import type { IncomingMessage } from "node:http";
import { toBytes } from "../wire/message-head.ts";

/** Headers that affect how a request is parsed, framed or answered. */
const meaningful = [
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "forwarded",
  "host",
  "origin",
  "proxy-connection",
  "traceparent",
  "tracestate",
  "transfer-encoding",
  "upgrade",
  "x-forwarded-for",
  "x-request-id",
] as const;

/** Name of a header that the gateway interprets. */
export type MeaningfulHeader = (typeof meaningful)[number];

/** The meaningful headers in a head; a list that spans several lines is joined. */
export type HeaderValues = Readonly<Record<MeaningfulHeader, string | undefined>>;

/** Lists to which proxies append lines; these are joined as in node:http. Any other repeated header is left to node:http. */
const lists: ReadonlySet<MeaningfulHeader> = new Set(["forwarded", "tracestate", "x-forwarded-for"]);

/**
 * Values for a head without any meaningful header. All value objects have the same shape, whatever headers a client sends and in whatever
 * order, which makes access fast.
 */
const noValues: HeaderValues = {
  authorization: undefined,
  connection: undefined,
  "content-length": undefined,
  "content-type": undefined,
  expect: undefined,
  forwarded: undefined,
  host: undefined,
  origin: undefined,
  "proxy-connection": undefined,
  traceparent: undefined,
  tracestate: undefined,
  "transfer-encoding": undefined,
  upgrade: undefined,
  "x-forwarded-for": undefined,
  "x-request-id": undefined,
};

type KnownName = Readonly<{ name: MeaningfulHeader; bytes: Uint8Array }>;

/** Header names by length: few headers share both their length and first letter with a meaningful one. */
const byLength: readonly (readonly KnownName[])[] = Array.from({ length: 18 }, (_, length) =>
  meaningful.filter((name) => name.length === length).map((name) => ({ name, bytes: toBytes(name) })),
);

const linesMax = 128;
const tab = 0x09;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;
const lowerCaseBit = 0x20;

/** Bits that mark where a character may occur: in a name (RFC 9110, section 5.6.2), in any value (section 5.5), in a value that is parsed. */
const ofName = 1;
const ofValue = 2;
const ofPlain = 4;
const kinds = Uint8Array.from({ length: 256 }, (_, code) => {
  const isPlain = code >= space && code <= 0x7e;
  const isName = /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(code));
  return (isName ? ofName : 0) | (isPlain || code === tab || code >= 0x80 ? ofValue : 0) | (isPlain ? ofPlain : 0);
});

/**
 * Parses the header lines of a head from `firstAt` to the empty line that ends it, in a single scan. Returns undefined if a line is not
 * well-formed (RFC 9112, section 5), if a meaningful header is repeated or has an unusual form, or if there are more lines than any real
 * client sends. `bytes` starts with the same head: scanning bytes is faster than scanning a string.
 */
export function readHeaderLines(head: string, bytes: Uint8Array, firstAt: number): HeaderValues | undefined {
  const values = { ...noValues };
  const end = head.length - 2;
  let lines = 0;
  for (let at = firstAt; at < end;) {
    const nameAt = at;
    while (getKind(bytes, at) & ofName) at += 1;
    if (at === nameAt || bytes[at] !== colon) return undefined;
    const name = findName(bytes, nameAt, at);
    at += 1;
    const valueAt = bytes[at] === space ? at + 1 : at;
    let allAre = ofValue | ofPlain;
    for (; bytes[at] !== carriageReturn; at += 1) {
      allAre &= getKind(bytes, at);
      if (!(allAre & ofValue)) return undefined;
    }
    lines += 1;
    if (bytes[at + 1] !== newline || lines > linesMax) return undefined;
    if (name !== undefined && !(allAre & ofPlain && readMeaningful(values, name, head.slice(valueAt, at))))
      return undefined;
    at += 2;
  }
  return values;
}

/** Adds a value. Returns whether the fast path supports it. */
function readMeaningful(
  values: Record<MeaningfulHeader, string | undefined>,
  name: MeaningfulHeader,
  value: string,
): boolean {
  if (value === "" || value.charCodeAt(0) === space || value.charCodeAt(value.length - 1) === space) return false;
  const before = values[name];
  if (before !== undefined && !lists.has(name)) return false;
  values[name] = before === undefined ? value : `${before}, ${value}`;
  return true;
}

function findName(bytes: Uint8Array, start: number, end: number): MeaningfulHeader | undefined {
  for (const known of byLength[end - start] ?? []) if (isNamed(bytes, start, known.bytes)) return known.name;
  return undefined;
}

/** Whether these bytes, all of which are valid in a name, equal this name, ignoring case: among such bytes only letters differ in this bit. */
function isNamed(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at += 1) if (((bytes[start + at] ?? 0) | lowerCaseBit) !== name[at]) return false;
  return true;
}

function getKind(bytes: Uint8Array, at: number): number {
  return kinds[bytes[at] ?? 0] ?? 0;
}

/** Target of a request: a path without its query, and the intended host, with or without a port. */
export type RequestTarget = Readonly<{ path: string; host: string | undefined }>;

/**
 * Parses a request's target in origin-form or absolute-form; the authority in the latter overrides Host (RFC 9112, section 3.2). Returns
 * undefined if the request has more than one Host header and must be rejected: two parsers could pick different ones.
 */
export function readTarget({ url = "", headers, rawHeaders }: IncomingMessage): RequestTarget | undefined {
  if (rawHeaders.filter((name, at) => at % 2 === 0 && name.length === 4 && name.toLowerCase() === "host").length > 1)
    return undefined;
  const absolute = /^https?:\/\//i.test(url) ? URL.parse(url) : null;
  if (absolute !== null) return { path: absolute.pathname, host: absolute.host };
  return { path: url.split("?", 1)[0] ?? "", host: headers.host };
}
