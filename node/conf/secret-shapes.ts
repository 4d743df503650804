import {
  hexKey,
  inAnyCase,
  pemLine,
  secretName,
  secretShapes,
  urlWithPassword,
} from "#daemon/secrets/secret-vocabulary.ts";

/** A name that is only `pass` counts, too. */
const secretKey = new RegExp(`${secretName}|${inAnyCase("^pass$")}`);
const passwordName = /(^|_)(password|passwd|pwd)$/i;
/** A path, or a file name with an extension. */
const path = /[/\\]|^[\w-]*\.[a-z]{2,8}$/i;
/** A base64 key, which may contain slashes: long, with digits and upper- and lower-case letters, and without a dot. */
const inlineKey = /^(?=.*\d)(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9+/]{40,}={0,2}$/;

/** A node.conf contains no hashes, so any 32 bytes are treated as a key, and no sentences, so 12 to 24 words are treated as a seed phrase. */
const shapes: readonly RegExp[] = [
  ...secretShapes,
  new RegExp(`(?<![0-9a-z])${hexKey}(?![0-9a-z])`, "gi"),
  /(?<![a-z])(?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8}(?![a-z])/g,
];

/** A secret's name, followed by quoted text or by text with a digit, which can't be an ordinary word in a sentence. */
const named = new RegExp(
  String.raw`(${secretName}["']?[ \t]*[:=][ \t]*)(?:(["'])[^"'\n/\\.]{4,}\2|(?=\S*\d)[^\s"',;/\\.]{6,}(?![/\\.]))`,
  "g",
);

/** A numeric password, in property syntax. */
const numericPassword = /("\w*(?:password|passwd|pwd)"\s*:\s*)\d+/gi;

/** Returns whether a property's value looks like a secret (specification, "Authentication", 3: never in a configuration file). */
export function looksSecret(key: string, value: unknown): boolean {
  return (typeof value === "string" && urlWithPassword.test(value)) || isSecretValue(key, value);
}

/** Works like {@link looksSecret}, but only for a value that is secret as a whole, which a URL with a password is not. */
export function isSecretValue(key: string, value: unknown): boolean {
  if (typeof value === "number") return passwordName.test(key);
  if (typeof value !== "string") return false;
  if (shapes.some((shape) => value.search(shape) !== -1)) return true;
  return secretKey.test(key) && value !== "" && !(path.test(value) && !inlineKey.test(value));
}

/** Masks everything in a text (a comment, for example) that looks like a secret. Pure. */
export function withoutSecretShapes(text: string): string {
  return [...shapes, pemLine]
    .reduce((before, shape) => before.replace(shape, "[secret]"), withoutCredentials(text))
    .replace(named, "$1[secret]")
    .replace(numericPassword, '$1"[secret]"');
}

/** Masks the text before the `@` in URLs and addresses (RFC 3986, 3.2.1: a password there is visible to everyone). */
export function withoutCredentials(text: string): string {
  return text.replace(/(\/\/|")[^\s/@":]*:[^\s/@"]*@/g, "$1[secret]@");
}

/** Max number of characters displayed for a value; values written by others may be long. */
const shownMax = 80;

/** Formats a configuration value for display: short, without secrets or URL credentials. */
export function formatValue(value: unknown): string {
  const shown = JSON.stringify(value, (key, part: unknown) => (isSecretValue(key, part) ? "[secret]" : part));
  const text = withoutCredentials(shown ?? "nothing");
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
