/**
 * A validating scanner over the bytes of JSON text (RFC 8259) that builds no values, so that neither key collisions,
 * `__proto__` keys nor deep nesting of a request cost more than its bytes.
 */

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** What may follow a backslash, beside `u`. */
const escapes: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

/** What the scanner answers for text that is no JSON. */
export const notJson = -1;

/** Whether these ASCII characters stand at `at`. */
export function isAt(bytes: Uint8Array, at: number, characters: string): boolean {
  for (let index = 0; index < characters.length; index += 1) {
    if (bytes[at + index] !== characters.charCodeAt(index)) return false;
  }
  return true;
}

/** Offset of the first character at or after `at` that is no white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  for (;;) {
    const code = bytes[at];
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** Offset after the string that starts at `at`, or {@link notJson}. */
export function skipString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== quote) return notJson;
  at += 1;
  for (;;) {
    const code = bytes[at] ?? 0;
    if (code === quote) return at + 1;
    if (code === backslash) {
      const end = skipEscape(bytes, at + 1);
      if (end === notJson) return notJson;
      at = end;
    } else if (code >= 0x20) at += 1;
    else return notJson; // A control character, or the text's end.
  }
}

function skipEscape(bytes: Uint8Array, at: number): number {
  const code = bytes[at] ?? 0;
  if (code === 0x75) {
    for (let digit = at + 1; digit <= at + 4; digit += 1) {
      if (!isHexDigit(bytes[digit] ?? 0)) return notJson;
    }
    return at + 5;
  }
  return escapes.has(code) ? at + 1 : notJson;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

/** Whether this is the code of a decimal digit. */
export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function skipDigits(bytes: Uint8Array, at: number): number {
  let end = at;
  while (isDigit(bytes[end] ?? 0)) end += 1;
  return end === at ? notJson : end;
}

function skipNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  const leadingZero = bytes[at] === 0x30;
  at = leadingZero ? at + 1 : skipDigits(bytes, at);
  if (at === notJson) return notJson;
  if (bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (at === notJson) return notJson;
  const code = bytes[at];
  if (code !== 0x65 && code !== 0x45) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
}

function skipScalar(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case quote:
      return skipString(bytes, at);
    case 0x74:
      return isAt(bytes, at, "true") ? at + 4 : notJson;
    case 0x66:
      return isAt(bytes, at, "false") ? at + 5 : notJson;
    case 0x6e:
      return isAt(bytes, at, "null") ? at + 4 : notJson;
    default:
      return skipNumber(bytes, at);
  }
}

/** Offset of the value after the key that starts at `at`, or {@link notJson}. */
export function skipKey(bytes: Uint8Array, at: number): number {
  const end = skipString(bytes, at);
  if (end === notJson) return notJson;
  const separator = skipSpace(bytes, end);
  return bytes[separator] === colon ? skipSpace(bytes, separator + 1) : notJson;
}

/**
 * Offset after the JSON value that starts at `at` (no white space before it), or {@link notJson}; also when arrays and objects
 * nest deeper than `maxDepth`.
 */
export function skipValue(bytes: Uint8Array, at: number, maxDepth: number): number {
  const closers: number[] = [];
  for (;;) {
    const code = bytes[at];
    if (code === openBrace || code === openBracket) {
      if (closers.length >= maxDepth) return notJson;
      const closer = code === openBrace ? closeBrace : closeBracket;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== closer) {
        closers.push(closer);
        if (closer === closeBrace) at = skipKey(bytes, at);
        if (at === notJson) return notJson;
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(bytes, at);
      if (at === notJson) return notJson;
    }
    at = skipClosers(bytes, at, closers);
    if (at === notJson || closers.length === 0) return at;
  }
}

/** From the end of a value to the start of the next one in the innermost open container, closing those that end. */
function skipClosers(bytes: Uint8Array, end: number, closers: number[]): number {
  let at = end;
  while (closers.length > 0) {
    const closer = closers.at(-1);
    at = skipSpace(bytes, at);
    const code = bytes[at];
    if (code === comma) {
      at = skipSpace(bytes, at + 1);
      return closer === closeBrace ? skipKey(bytes, at) : at;
    }
    if (code !== closer) return notJson;
    closers.pop();
    at += 1;
  }
  return at;
}
