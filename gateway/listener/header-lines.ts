/** Headers that change how a request is read, framed or answered. */
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

/** The name of a header that means something to the gateway. */
export type MeaningfulHeader = (typeof meaningful)[number];

/** The meaningful headers of a head; a list that came in several lines is joined. */
export type HeaderValues = Readonly<Partial<Record<MeaningfulHeader, string>>>;

/** Lists that proxies add a line to, as node:http joins them. Any other header that comes twice is node:http's to judge. */
const lists: ReadonlySet<MeaningfulHeader> = new Set(["forwarded", "tracestate", "x-forwarded-for"]);

/** The names by their length: few headers have the length and the first letter of one that matters. */
const byLength: readonly (readonly MeaningfulHeader[])[] = Array.from({ length: 18 }, (_, length) =>
  meaningful.filter((name) => name.length === length),
);

const linesMax = 128;
const tab = 0x09;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;
const lowerCaseBit = 0x20;

/** What a character may be part of: a name (RFC 9110, section 5.6.2), any value (section 5.5), a value that is read. */
const ofName = 1;
const ofValue = 2;
const ofPlain = 4;
const kinds = Uint8Array.from({ length: 256 }, (_, code) => {
  const isPlain = code >= space && code <= 0x7e;
  const isName = /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(code));
  return (isName ? ofName : 0) | (isPlain || code === tab || code >= 0x80 ? ofValue : 0) | (isPlain ? ofPlain : 0);
});

/**
 * Reads the header lines of a head from `firstAt` to the empty line that ends it, in one pass. Undefined when a line is not well-formed
 * (RFC 9112, section 5), when one that matters comes twice or in an unusual form, or when there are more than anybody sends.
 */
export function readHeaderLines(head: string, firstAt: number): HeaderValues | undefined {
  const values: Partial<Record<MeaningfulHeader, string>> = {};
  const end = head.length - 2;
  let lines = 0;
  for (let at = firstAt; at < end;) {
    const nameAt = at;
    while (kindAt(head, at) & ofName) at += 1;
    if (at === nameAt || head.charCodeAt(at) !== colon) return undefined;
    const name = nameOf(head, nameAt, at);
    at += 1;
    const valueAt = head.charCodeAt(at) === space ? at + 1 : at;
    let allAre = ofValue | ofPlain;
    for (; head.charCodeAt(at) !== carriageReturn; at += 1) {
      allAre &= kindAt(head, at);
      if (!(allAre & ofValue)) return undefined;
    }
    lines += 1;
    if (head.charCodeAt(at + 1) !== newline || lines > linesMax) return undefined;
    if (name !== undefined && !(allAre & ofPlain && take(values, name, head.slice(valueAt, at)))) return undefined;
    at += 2;
  }
  return values;
}

/** Answers whether the value is one that the fast path can take. */
function take(values: Partial<Record<MeaningfulHeader, string>>, name: MeaningfulHeader, value: string): boolean {
  if (value === "" || value.charCodeAt(0) === space || value.charCodeAt(value.length - 1) === space) return false;
  const before = values[name];
  if (before !== undefined && !lists.has(name)) return false;
  values[name] = before === undefined ? value : `${before}, ${value}`;
  return true;
}

function nameOf(head: string, start: number, end: number): MeaningfulHeader | undefined {
  const candidates = byLength[end - start];
  if (candidates === undefined) return undefined;
  const first = head.charCodeAt(start) | lowerCaseBit;
  for (const candidate of candidates) {
    if (candidate.charCodeAt(0) === first && head.slice(start, end).toLowerCase() === candidate) return candidate;
  }
  return undefined;
}

function kindAt(head: string, at: number): number {
  return kinds[head.charCodeAt(at)] ?? 0;
}
