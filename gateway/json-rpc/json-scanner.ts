/**
 * A validating scanner over the bytes of JSON text (RFC 8259). It builds no values, so key collisions, `__proto__` keys and deep nesting in
 * a request cost no more than their bytes. It counts what does cost more: many small values.
 */

// Each scanning file defines its own constants: with imported ones, which V8 loads from their module, a scan was 4 to 8 % slower.
const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;
const colon = 0x3a;

/** Characters other than `u` that are allowed after a backslash. */
const escapes: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

/** Bytes that need no escaping in a string. */
const plain = Uint8Array.from({ length: 256 }, (_, code) =>
  Number(code >= 0x20 && code !== quote && code !== backslash),
);

/** Max run of white space; a longer run is treated as invalid JSON. */
const spaceBytes = 65_536;

/** Scanner result for text that is not JSON or exceeds its budget. */
export const notJson = -1;

/**
 * Remaining budget of a scan: values, keys and escapes (each of which costs many times as much as a string byte), and bytes up to `endsAt`.
 * A scan that returns {@link notJson} and leaves a negative count exceeded its budget.
 */
export type ScanBudget = { values: number; endsAt: number };

/** Creates a budget for text that is trusted, or was scanned before. */
export function createUnlimitedBudget(): ScanBudget {
  return { values: 0x3fffffff, endsAt: 0x3fffffff };
}

/** Whether these ASCII characters are at offset `at`. */
export function isAt(bytes: Uint8Array, at: number, characters: string): boolean {
  for (let index = 0; index < characters.length; index += 1) {
    if (bytes[at + index] !== characters.charCodeAt(index)) return false;
  }
  return true;
}

/**
 * Returns the offset of the first non-whitespace character at or after `at`; after 64 KiB of whitespace, returns the offset of the next
 * whitespace character.
 */
export function skipSpace(bytes: Uint8Array, at: number): number {
  const end = at + spaceBytes;
  for (;;) {
    const code = bytes[at];
    if (code === undefined || code > 0x20 || at === end) return at;
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** Returns the offset of the first byte from `at` to `until` (exclusive) that is not plain text in a string. */
export function skipPlain(bytes: Uint8Array, at: number, until: number): number {
  while (at < until && plain[bytes[at] ?? 0] === 1) at += 1;
  return at;
}

/** Returns the offset after the string that starts at `at`, or {@link notJson}. */
export function skipString(bytes: Uint8Array, at: number, budget: ScanBudget): number {
  if (bytes[at] !== quote) return notJson;
  const { endsAt } = budget;
  at += 1;
  for (;;) {
    while (at <= endsAt && plain[bytes[at] ?? 0] === 1) at += 1;
    const code = bytes[at];
    if (code === quote) return at + 1;
    budget.values = at > endsAt ? -1 : budget.values - 1;
    // Any other character here is a control character, or the text has ended.
    const end = code === backslash && budget.values >= 0 ? skipEscape(bytes, at + 1) : notJson;
    if (end === notJson) return notJson;
    at = end;
  }
}

/** Returns the offset after an escape whose backslash is just before `at`, or {@link notJson}. */
export function skipEscape(bytes: Uint8Array, at: number): number {
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

function skipScalar(bytes: Uint8Array, at: number, budget: ScanBudget): number {
  switch (bytes[at]) {
    case quote:
      return skipString(bytes, at, budget);
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

/** Returns the offset of the value after the key that starts at `at`, or {@link notJson}. */
export function skipKey(bytes: Uint8Array, at: number, budget: ScanBudget): number {
  budget.values -= 1;
  const end = skipString(bytes, at, budget);
  if (end === notJson) return notJson;
  const separator = skipSpace(bytes, end);
  return bytes[separator] === colon ? skipSpace(bytes, separator + 1) : notJson;
}

/** Max nesting depth that any setting can allow. */
const depthMax = 10_000;

/** Closing brackets of the open containers. All scans share one array, because scans are never nested. */
const closers = new Uint8Array(depthMax);

/**
 * Returns the offset after the JSON value that starts at `at` (with no whitespace before it), or {@link notJson}, which is also returned if
 * arrays and objects nest deeper than `maxDepth` or the value exceeds the budget.
 */
export function skipValue(bytes: Uint8Array, at: number, maxDepth: number, budget: ScanBudget): number {
  const most = Math.min(maxDepth, depthMax);
  let open = 0;
  for (;;) {
    budget.values -= 1;
    if (at > budget.endsAt) budget.values = -1;
    if (budget.values < 0) return notJson;
    const code = bytes[at];
    if (code === openBrace || code === openBracket) {
      if (open >= most) return notJson;
      const closer = code === openBrace ? closeBrace : closeBracket;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== closer) {
        closers[open] = closer;
        open += 1;
        if (closer === closeBrace) at = skipKey(bytes, at, budget);
        if (at === notJson) return notJson;
        continue;
      }
      at += 1;
    } else {
      at = skipScalar(bytes, at, budget);
      if (at === notJson) return notJson;
    }
    // Moves from the end of a value to the start of the next one in the innermost open container, closing completed containers on the way.
    for (let isMore = false; open > 0 && !isMore;) {
      const closer = closers[open - 1];
      at = skipSpace(bytes, at);
      if (bytes[at] === comma) {
        isMore = true;
        at = skipSpace(bytes, at + 1);
        if (closer === closeBrace) at = skipKey(bytes, at, budget);
        if (at === notJson) return notJson;
      } else {
        if (bytes[at] !== closer) return notJson;
        open -= 1;
        at += 1;
      }
    }
    if (open === 0) return at;
  }
}
