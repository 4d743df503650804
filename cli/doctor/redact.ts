import { hash } from "node:crypto";
import type { Mask } from "#daemon/secrets/mask.ts";
import {
  hexKey,
  inAnyCase,
  isUnmistakableKey,
  keyInPath,
  pemLine,
  secretName,
  secretParameters,
  secretShapes,
  uuidInPath,
} from "#daemon/secrets/secret-vocabulary.ts";
import { english } from "viem/accounts";

const shownInstead = "[masked]";

/** Fields of requests are secrets, too, if no other word follows: `signature_checks` describes a service. */
const markPattern = String.raw`(?:${secretName}|${inAnyCase("(?:authorization|signature|cookie)s?")})\\?["']?`;

const patterns: readonly RegExp[] = [...secretShapes, pemLine, uuidInPath, /\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}/gi];

/** Values that the text before them marks as secrets; the first capture group is retained. */
const valuesBehind: readonly RegExp[] = [
  // A whole header, with any scheme or with several cookies.
  /(\b(?:authorization|cookie)\\?["']?\s*[:=]\s*\\?["']?)[^\r\n"',\\]+/gi,
  // A command-line option.
  new RegExp(String.raw`(--[\w-]{0,40}?${secretName}\s+)\S+`, "g"),
  // Keys of any kind in a variable or a query.
  /(\b(?:[A-Z0-9_]*KEYS|keys)=)[^\s"'{}[\]&;]+/g,
  // A passphrase in a sentence, unless the sentence goes on.
  /(\bpassphrase\s+)(?!(?:is|was|has|of|for|in|from|file|must|not|to|and|or|that)\b)[^\s:=]+/gi,
  // Short options of known programs.
  /(\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\r\n]{0,200}?\s-p)[^\s"']+/g,
  /(\b(?:sshpass\s+-p|redis-cli\b[^\r\n]{0,200}?\s-a|curl\b[^\r\n]{0,200}?\s(?:-u|--user))[\s=]*)[^\s"']+/g,
  new RegExp(String.raw`([?&](?:${secretParameters})=)[^&\s"']+`, "gi"),
];

const namedList = new RegExp(String.raw`((?:${markPattern}|${inAnyCase("keys")}\\?["']?)\s*[:=]\s*\[)([^\]]*)`, "g");
/** An entry of such a list; a shorter one is a name, e.g. of a payment token. */
const listEntry = /[\w.~+/=-]{8,}/g;

/** Path of a URL, with or without scheme and host, as in request logs. */
const urlPath = /[a-z0-9+.-]:\/\/[^\s"'<>?#]*|\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \/[^\s"'<>?#]*/gi;
/** A path that may also be a file's. */
const anyPath = /(?<=["'\s=(])\/[^\s"'<>?#\\]*/g;

/** A value whose name marks it as a secret: in JSON, a header, a query or a variable; several with commas between them. */
const namedSecret = new RegExp(
  String.raw`(${markPattern}\s*[:=]\s*)("(?:[^"\\]|\\.)*"|\\"[^"]*"|'[^'\r\n]*'|[^\s,;&{}[\]"]+(?:,[^\s,;&{}[\]"]+)*)`,
  "g",
);

/** 32 bytes or more in hexadecimal. A private key looks like a hash, so both are masked. */
const longHex = new RegExp(`${hexKey}[0-9a-f]*`, "gi");

/** Removes secrets. A placeholder for 32 or more hexadecimal bytes is consistent: lines about one transaction stay correlated. */
export function redact(text: string, mask: Mask): string {
  const known = redactSeeds(mask.text(text));
  const withoutShapes = patterns.reduce((shown, shape) => shown.replaceAll(shape, shownInstead), known);
  const withoutValues = valuesBehind.reduce(
    (shown, value) => shown.replaceAll(value, `$1${shownInstead}`),
    withoutShapes,
  );
  const withoutListed = withoutValues.replaceAll(
    namedList,
    (_, name: string, entries: string) => name + entries.replaceAll(listEntry, shownInstead),
  );
  const urls = redactPaths(withoutListed, urlPath, (segment) => keyInPath.test(segment));
  const named = redactPaths(urls, anyPath, isUnmistakableKey).replaceAll(
    namedSecret,
    (_, before: string, value: string) => {
      const quote = /^\\?["']/.exec(value)?.[0] ?? "";
      return `${before}${quote}${shownInstead}${quote}`;
    },
  );
  return named.replaceAll(longHex, (hex) => `[hex ${computeMark(hex)}]`);
}

/** Masks keys in URL paths, where RPC providers put them. Punctuation of a sentence may follow one. */
function redactPaths(text: string, pattern: RegExp, isKey: (segment: string) => boolean): string {
  const redactSegment = (part: string): string => {
    const [, segment = "", end = ""] = /^([\w-]+)([^\w-]*)$/.exec(part) ?? [];
    return isKey(segment) ? `${shownInstead}${end}` : part;
  };
  return text.replaceAll(pattern, (whole) => whole.split("/").map(redactSegment).join("/"));
}

function computeMark(hex: string): string {
  const digits = hex.toLowerCase().replace(/^0x/, "");
  return hash("sha256", digits).slice(0, 8);
}

/** Words used in wallet seed phrases (BIP-39). */
const seedWords: ReadonlySet<string> = new Set(english);
const seedLength = 12;

const wordRuns = /\b[a-z]{3,8}(?:[ \t]+[a-z]{3,8}){11,}\b/gi;

/** Masks wallet seed phrases in text: twelve or more consecutive words of the list. */
function redactSeeds(text: string): string {
  return text.replaceAll(wordRuns, (run) => {
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
