/**
 * A validating scanner over JSON text (RFC 8259) that builds no values, so that neither key collisions, `__proto__` keys nor
 * deep nesting of a request cost more than its bytes. Text is a binary string: one character a byte.
 */

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** What the scanner answers for text that is no JSON. */
export const notJson = -1;

/** Offset of the first character at or after `at` that is no white space. */
export function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** Offset after the string that starts at `at`, or {@link notJson}. */
export function skipString(text: string, at: number): number {
  if (text.charCodeAt(at) !== quote) return notJson;
  at += 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === quote) return at + 1;
    if (code === backslash) {
      const end = skipEscape(text, at + 1);
      if (end === notJson) return notJson;
      at = end;
    } else if (code >= 0x20) at += 1;
    else return notJson; // A control character, or NaN at the text's end.
  }
}

function skipEscape(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === 0x75) {
    for (let digit = at + 1; digit <= at + 4; digit += 1) {
      if (!isHexDigit(text.charCodeAt(digit))) return notJson;
    }
    return at + 5;
  }
  return '"\\/bfnrt'.includes(text.charAt(at)) && at < text.length ? at + 1 : notJson;
}

function isHexDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function skipDigits(text: string, at: number): number {
  let end = at;
  while (isDigit(text.charCodeAt(end))) end += 1;
  return end === at ? notJson : end;
}

function skipNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === 0x2d ? start + 1 : start;
  const leadingZero = text.charCodeAt(at) === 0x30;
  at = leadingZero ? at + 1 : skipDigits(text, at);
  if (at === notJson) return notJson;
  if (text.charCodeAt(at) === 0x2e) at = skipDigits(text, at + 1);
  if (at === notJson) return notJson;
  const code = text.charCodeAt(at);
  if (code !== 0x65 && code !== 0x45) return at;
  const sign = text.charCodeAt(at + 1);
  return skipDigits(text, sign === 0x2b || sign === 0x2d ? at + 2 : at + 1);
}

function skipScalar(text: string, at: number): number {
  switch (text.charCodeAt(at)) {
    case quote:
      return skipString(text, at);
    case 0x74:
      return text.startsWith("true", at) ? at + 4 : notJson;
    case 0x66:
      return text.startsWith("false", at) ? at + 5 : notJson;
    case 0x6e:
      return text.startsWith("null", at) ? at + 4 : notJson;
    default:
      return skipNumber(text, at);
  }
}

/** Offset of the value after the key that starts at `at`, or {@link notJson}. */
export function skipKey(text: string, at: number): number {
  const end = skipString(text, at);
  if (end === notJson) return notJson;
  const separator = skipSpace(text, end);
  return text.charCodeAt(separator) === colon ? skipSpace(text, separator + 1) : notJson;
}

/**
 * Offset after the JSON value that starts at `at` (no white space before it), or {@link notJson}; also when arrays and objects
 * nest deeper than `maxDepth`.
 */
export function skipValue(text: string, at: number, maxDepth: number): number {
  const closers: number[] = [];
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === openBrace || code === openBracket) {
      if (closers.length >= maxDepth) return notJson;
      const closer = code === openBrace ? closeBrace : closeBracket;
      at = skipSpace(text, at + 1);
      if (text.charCodeAt(at) !== closer) {
        closers.push(closer);
        if (closer === closeBrace) at = skipKey(text, at);
        if (at === notJson) return notJson;
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(text, at);
      if (at === notJson) return notJson;
    }
    at = skipClosers(text, at, closers);
    if (at === notJson || closers.length === 0) return at;
  }
}

/** From the end of a value to the start of the next one in the innermost open container, closing those that end. */
function skipClosers(text: string, end: number, closers: number[]): number {
  let at = end;
  while (closers.length > 0) {
    const closer = closers.at(-1);
    at = skipSpace(text, at);
    const code = text.charCodeAt(at);
    if (code === comma) {
      at = skipSpace(text, at + 1);
      return closer === closeBrace ? skipKey(text, at) : at;
    }
    if (code !== closer) return notJson;
    closers.pop();
    at += 1;
  }
  return at;
}
