import { hash } from "node:crypto";
import { keyInPath, type Mask } from "#daemon/secrets/mask.ts";
import { english } from "viem/accounts";

const shownInstead = "[masked]";

/** Patterns of secrets, masked wherever they occur. */
const secretShapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // JSON Web Tokens (RFC 7519).
  /\beyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*/g,
  /\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}/gi,
  // Tokens by their providers' prefixes: Stripe, GitHub, GitLab, Slack, SendGrid, Google.
  /\b(?:(?:sk|rk|pk)_(?:live|test)_|whsec_|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|SG\.|AIza)[\w.-]{4,}/g,
  // Those of npm, PyPI, Hugging Face, Pulumi, DigitalOcean and OpenAI: with a digit, for words begin in the same way.
  /\b(?:npm_|pypi-|hf_|pul-|dop_v1_|sk-)(?=[\w-]{0,40}\d)[\w.-]{10,}/g,
  // Key ids of AWS.
  /\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g,
];

/** Words before `key` that make it a secret one; keys of caches, tables and objects are not. */
const keyKinds =
  "private|secret|access|api|auth|account|signer|signing|encryption|master|shared|license|domain|stabilizing";

const secretWord = String.raw`(?:(?:${keyKinds})[-_]?key|secret|passw(?:or)?d|passphrase|pwd|(?:key|store|[-_])pass|mnemonic|token|authorization|signature|cookie|credential)`;
const secretNames = `${secretWord}s?`;

/** Values that the text before them marks as secrets; the first capture group is retained. */
const valuesBehind: readonly RegExp[] = [
  // A whole Authorization header, with any scheme.
  /(\bauthorization\\?["']?\s*[:=]\s*\\?["']?)[^\r\n"',\\]+/gi,
  // A command-line option.
  new RegExp(String.raw`(--[\w-]{0,40}${secretNames}\s+)\S+`, "gi"),
  // A variable with several secrets.
  /(\b[A-Z0-9_]*(?:KEYS|TOKENS|SECRETS|PASSWORDS)=)[^\s"']+/g,
  // A list, as in `apiKeys=a,b`.
  new RegExp(String.raw`(${secretWord}s\s*[:=]\s*|\bkeys=)[^\s"'{}[\]&;]+`, "gi"),
  // A passphrase in a sentence, unless the sentence goes on.
  /(\bpassphrase\s+)(?!(?:is|was|has|of|for|in|from|file|must|not|to|and|or|that)\b)[^\s:=]+/gi,
  // Short options of known programs.
  /(\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\r\n]{0,200}?\s-p)[^\s"']+/g,
  /(\b(?:sshpass\s+-p|redis-cli\b[^\r\n]{0,200}?\s-a|curl\b[^\r\n]{0,200}?\s(?:-u|--user))[\s=]*)[^\s"']+/g,
  /([?&](?:key|auth|sig|jwt|session|access)=)[^&\s"']+/gi,
];

const namedList = new RegExp(String.raw`((?:${secretNames}|keys)\\?["']?\s*[:=]\s*\[)([^\]]*)`, "gi");
/** An entry of such a list; a shorter one is a name, e.g. of a payment token. */
const listEntry = /[\w.~+/=-]{8,}/g;

/** Path of a URL, with or without scheme and host, as in request logs. */
const path = /[a-z0-9+.-]:\/\/[^\s"'<>?#]*|\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \/[^\s"'<>?#]*/gi;

/** A value whose name marks it as a secret: in JSON, a header, a query or a variable. */
const namedSecret = new RegExp(
  String.raw`(${secretNames}\\?["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|\\"[^"]*"|[^\s,;&{}[\]"]+)`,
  "gi",
);

/** 32 bytes or more in hexadecimal. A private key looks like a hash, so both are masked. */
const longHex = /(?:0x)?[0-9a-f]{64,}/gi;

/** Removes secrets. A placeholder for 32 or more hexadecimal bytes is consistent: lines about one transaction stay correlated. */
export function redact(text: string, mask: Mask): string {
  const known = redactSeeds(mask.text(text));
  const shaped = secretShapes.reduce((shown, shape) => shown.replaceAll(shape, shownInstead), known);
  const behind = valuesBehind.reduce((shown, value) => shown.replaceAll(value, `$1${shownInstead}`), shaped);
  const listed = behind.replaceAll(
    namedList,
    (_, name: string, entries: string) => name + entries.replaceAll(listEntry, shownInstead),
  );
  const named = redactPaths(listed).replaceAll(namedSecret, (_, name: string, value: string) => {
    if (value.startsWith('\\"')) return String.raw`${name}\"${shownInstead}\"`;
    return value.startsWith('"') ? `${name}"${shownInstead}"` : `${name}${shownInstead}`;
  });
  return named.replaceAll(longHex, (hex) => `[hex ${computeMark(hex)}]`);
}

/** Masks keys in URL paths, where RPC providers put them. */
function redactPaths(text: string): string {
  return text.replaceAll(path, (whole) =>
    whole
      .split("/")
      .map((part) => (keyInPath.test(part) ? shownInstead : part))
      .join("/"),
  );
}

function computeMark(hex: string): string {
  const digits = hex.toLowerCase().replace(/^0x/, "");
  return hash("sha256", digits).slice(0, 8);
}

/** Words used in wallet seed phrases (BIP-39). */
const seedWords: ReadonlySet<string> = new Set(english);
const seedLength = 12;

const words = /\b[a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,}\b/gi;

/** Masks wallet seed phrases in text: twelve or more consecutive words of the list. */
function redactSeeds(text: string): string {
  return text.replaceAll(words, (run) => {
    const kept: string[] = [];
    let seed: string[] = [];
    const endSeed = () => {
      kept.push(...(seed.length >= seedLength ? [shownInstead] : seed));
      seed = [];
    };
    for (const word of run.split(/[ \t]+/)) {
      if (seedWords.has(word.toLowerCase())) {
        seed.push(word);
        continue;
      }
      endSeed();
      kept.push(word);
    }
    endSeed();
    return kept.includes(shownInstead) ? kept.join(" ") : run;
  });
}
