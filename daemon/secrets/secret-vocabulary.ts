/*
 * Names and shapes of secrets, for everything that finds them in text it did not write: node.conf, containers' variables, the bundle of
 * `gatehouse doctor`. Each use states its exceptions beside it. Patterns are sources for the flag `i`, except `secretName`.
 */

/**
 * Writes a pattern's letters in both cases, for a pattern that must also tell cases apart. The modifier `(?-i:)` would do, but with it, V8
 * 14.6 sometimes loses the flag `i` in a process that has compiled many patterns. The pattern must not contain ranges such as `a-z`.
 */
export function inAnyCase(source: string): string {
  return source.replace(/\\.|\[(?:\\.|[^\]\\])*\]|[a-z]/gi, (part) => {
    if (part.startsWith("\\")) return part;
    return part.startsWith("[") ? part.replace(/\\.|[a-z]/gi, addOtherCase) : `[${addOtherCase(part)}]`;
  });
}

/** Adds a letter's other case to it; an escape stays. */
function addOtherCase(letter: string): string {
  return letter.startsWith("\\") ? letter : letter.toLowerCase() + letter.toUpperCase();
}

/** Words before `key` that make it a secret one; keys of caches, tables and objects are not. */
const keyKinds =
  "private|secret|access|api|auth|account|signer|signing|encryption|master|shared|license|domain|stabilizing";

/** A word for a secret, not as the start of a longer one (`secretive`). */
const words = `(?:(?:${keyKinds})[ _-]?key|secret|passw(?:or)?d|passphrase|pwd|(?:key|store)[ _-]?pass|mnemonic|token|credential)s?`;
const secretWord = String.raw`(?:${inAnyCase(words)}(?![a-z])|${inAnyCase("[_-]pass")}(?![\w-]))`;

/** Name suffixes whose values describe a secret (its file or age) rather than contain it. */
const descriptionWord =
  "file|path|dir|address|name|version|issuer|audience|decimals|type|size|count|limit|max|min|ms|seconds";

/** The end of a file's name, e.g. before a line number. */
const extension = String.raw`\.(?:[cm]?[jt]s|json5?|ya?ml|txt|pem|md)`;

/**
 * A name, which may have dots (`db.password.value`), with a secret word in any position, up to the name's end: for patterns without the
 * flag `i`, because a word ends before a capital (`secretKey`), but not before another letter.
 */
export const secretName = String.raw`${secretWord}[\w-]{0,64}(?:\.[\w-]{1,64}){0,4}(?![\w-]|\.\w)(?<!${inAnyCase(`${descriptionWord}|${extension}`)})`;

/** Parameters of a query, besides those with a secret name, that contain a key. */
export const secretParameters = "key|dkey|auth|sig|jwt|session|access";

/** 32 bytes in hexadecimal: a private key, or a hash. */
export const hexKey = "(?:0x)?[0-9a-f]{64}";

export const urlWithPassword = /:\/\/[^\s/@:]*:[^\s/@]+@/;

/** A path segment that is a key of the kind that providers use: long, with both letters and digits. */
export const keyInPath = /^(?=.*\d)(?=.*[A-Za-z])[\w-]{16,}$/;

/** Places where a digit adjoins a letter: few in words and dates, many in keys. */
const mixed = /[a-z](?=\d)|\d(?=[a-z])/gi;
const mixedMin = 3;
const address = /^0x[0-9a-f]{40}$/i;

/** Returns whether a path segment looks like a key, even in a file path: not an address, and not words with a date. */
export function isUnmistakableKey(segment: string): boolean {
  return keyInPath.test(segment) && !address.test(segment) && (segment.match(mixed) ?? []).length >= mixedMin;
}

/** A UUID in a path, which may be a key. Elsewhere, a UUID identifies a request. */
export const uuidInPath = /(?<=\/|%2F)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])/gi;

/** Patterns that are secret in any context. Each is tried once per run of its characters, so that a search takes linear time. */
export const secretShapes: readonly RegExp[] = [
  // A PEM key; the rest of the text if its end is missing.
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // JSON Web Tokens (RFC 7519).
  /(?<![\w-])eyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*/g,
  // Tokens by their providers' prefixes: Stripe, GitHub, GitLab, Slack, SendGrid, Google.
  /\b(?:(?:sk|rk|pk)_(?:live|test)_|whsec_|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|SG\.|AIza)[\w.-]{4,}/g,
  // Tokens of npm, PyPI, Hugging Face, Pulumi, DigitalOcean and OpenAI: with a digit, because some words start the same way.
  /\b(?:npm_|pypi-|hf_|pul-|dop_v1_|sk-)(?=[\w-]{0,40}\d)[\w.-]{10,}/g,
  // AWS key ids.
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
];

/** A line from the middle of a PEM key. No path matches the whole pattern. */
export const pemLine =
  /(?<![\w+/.])(?!\/)(?=[a-z\d+/]*[A-Z])(?=[A-Z\d+/]*[a-z])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{60,}={0,2}/g;
