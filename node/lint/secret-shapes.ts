import { withoutCredentials } from "../conf/shown-value.ts";

const secretName = /(^|_)(private_?key|secret|password|passphrase|mnemonic|api_?key|token)$/i;
const urlWithPassword = /:\/\/[^\s/@:]*:[^\s/@]+@/;

/** Texts that are secrets wherever they stand: a key of 32 bytes in hexadecimal, a PEM key, a phrase of 12 to 24 words. */
const shapes: readonly RegExp[] = [
  /(?<![0-9a-zA-Z])(?:0x)?[0-9a-fA-F]{64}(?![0-9a-zA-Z])/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----)?/g,
  /(?<![a-z])(?:[a-z]{3,8}[ \t]+){11,23}[a-z]{3,8}(?![a-z])/g,
];

/** A line of a PEM key whose beginning is not shown; no path has all of this. */
const pemLine = /(?<![\w+/.])(?!\/)(?=\S*[A-Z])(?=\S*[a-z])(?=\S*\d)[A-Za-z0-9+/]{60,}={0,2}/g;

/** A name of a secret, then what stands in quotes, or what holds a digit and so is no word of a sentence. */
const named =
  /((?:private[ _-]?key|secret|password|passphrase|mnemonic|api[ _-]?key|token)["']?[ \t]*[:=][ \t]*)(?:(["'])[^"'\n/\\.]{4,}\2|(?=\S*\d)[^\s"',;/\\.]{6,}(?![/\\.]))/gi;

/** Whether a property's value looks like a secret (specification, "Authentication", 3: never in a configuration file). */
export function looksSecret(key: string, value: string): boolean {
  if (urlWithPassword.test(value)) return true;
  if (shapes.some((shape) => value.search(shape) !== -1)) return true;
  return secretName.test(key) && value !== "" && !/[/\\.]/.test(value);
}

/** A text, say a comment, with what looks like a secret masked. Pure. */
export function withoutSecretShapes(text: string): string {
  return [...shapes, pemLine]
    .reduce((before, shape) => before.replace(shape, "[secret]"), withoutCredentials(text))
    .replace(named, "$1[secret]");
}
