import { toBytes } from "../wire/message-head.ts";

/** The headers that affect how a request is served. All value objects have this shape, which makes access fast. */
const noValues = {
  authorization: undefined,
  connection: undefined,
  "content-encoding": undefined,
  "content-length": undefined,
  "content-type": undefined,
  expect: undefined,
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

type MeaningfulHeader = keyof typeof noValues;

/** The meaningful headers in a head; a list that spans several lines is joined. */
export type HeaderValues = Readonly<Record<MeaningfulHeader, string | undefined>>;

/** Lists to which proxies append lines; these are joined as in node:http. Any other repeated header is left to node:http. */
const lists: ReadonlySet<MeaningfulHeader> = new Set(["tracestate", "x-forwarded-for"]);

type KnownName = Readonly<{ name: MeaningfulHeader; bytes: Uint8Array }>;

/** Header names by length: few headers share both length and first letter with a meaningful one. */
const byLength: readonly (readonly KnownName[])[] = Array.from({ length: 18 }, (_, length) =>
  (Object.keys(noValues) as MeaningfulHeader[])
    .filter((name) => name.length === length)
    .map((name) => ({ name, bytes: toBytes(name) })),
);

const linesMax = 128;
const tab = 0x09;
const newline = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const colon = 0x3a;
const lowerCaseBit = 0x20;

/** Bits that mark where a character may occur: in a name (RFC 9110, section 5.6.2), in any value (section 5.5), in a value that is parsed. */
const inName = 1;
const inValue = 2;
const ofPlain = 4;
const kinds = Uint8Array.from({ length: 256 }, (_, code) => {
  const isPlain = code >= space && code <= 0x7e;
  const isName = /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(code));
  return (isName ? inName : 0) | (isPlain || code === tab || code >= 0x80 ? inValue : 0) | (isPlain ? ofPlain : 0);
});

/**
 * Parses the header lines of a head from `firstAt` to the empty line that ends it, in a single scan. Returns undefined if a line is not
 * well-formed (RFC 9112, section 5), if a meaningful header is repeated or has an unusual form, or if there are more lines than any real
 * client sends. `bytes` starts with the same head: scanning bytes is faster than scanning a string.
 */
export function readHeaderLines(head: string, bytes: Uint8Array, firstAt: number): HeaderValues | undefined {
  const values: Record<MeaningfulHeader, string | undefined> = { ...noValues };
  const end = head.length - 2;
  let lines = 0;
  for (let at = firstAt; at < end;) {
    const nameAt = at;
    while (getKind(bytes, at) & inName) at += 1;
    if (at === nameAt || bytes[at] !== colon) return undefined;
    const name = findName(bytes, nameAt, at);
    at += 1;
    const valueAt = bytes[at] === space ? at + 1 : at;
    let allAre = inValue | ofPlain;
    for (; bytes[at] !== carriageReturn; at += 1) {
      allAre &= getKind(bytes, at);
      if (!(allAre & inValue)) return undefined;
    }
    lines += 1;
    if (bytes[at + 1] !== newline || lines > linesMax) return undefined;
    if (name !== undefined && !(allAre & ofPlain && readMeaningful(values, name, head.slice(valueAt, at))))
      return undefined;
    at += 2;
  }
  return values;
}

function readMeaningful(
  values: Record<MeaningfulHeader, string | undefined>,
  name: MeaningfulHeader,
  value: string,
): boolean {
  if (value === "" || value.charCodeAt(0) === space || value.charCodeAt(value.length - 1) === space) return false;
  const previousValue = values[name];
  if (previousValue !== undefined && !lists.has(name)) return false;
  values[name] = previousValue === undefined ? value : `${previousValue}, ${value}`;
  return true;
}

function findName(bytes: Uint8Array, start: number, end: number): MeaningfulHeader | undefined {
  return byLength[end - start]?.find((known) => isNamed(bytes, start, known.bytes))?.name;
}

/**
 * Whether these bytes, all valid in a name, equal this name except for case: of such bytes, only letters differ in this bit.
 */
function isNamed(bytes: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at += 1) if (((bytes[start + at] ?? 0) | lowerCaseBit) !== name[at]) return false;
  return true;
}

function getKind(bytes: Uint8Array, at: number): number {
  return kinds[bytes[at] ?? 0] ?? 0;
}
