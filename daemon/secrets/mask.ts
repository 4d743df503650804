import { keyInPath } from "./secret-vocabulary.ts";
import { Secret } from "./secret.ts";

export const truncationMark = "…";

/**
 * Truncates external text to a number of characters, and marks the cut. The cut may be inside a secret, so {@link createMask} also
 * recognizes the start of a secret right before the mark.
 */
export function truncateText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}${truncationMark}`;
}

/** Masks secrets in text. */
export type Mask = Readonly<{
  /** Returns text that is safe to log, send or print. */
  text: (text: string) => string;
  /** Masks a value's contents from now on: secrets, and credentials in URLs; searches objects and lists. */
  hide: (value: unknown) => void;
}>;

const shownInstead = "[masked]";

/** Min length of a secret that is masked everywhere. A shorter one may be part of a word, so it is masked only in its URL. */
const hiddenLength = 12;

/**
 * Credentials in any URL (RFC 3986, section 3.2.1), even in the middle of a text. Matches only the scheme's last character: a search for
 * the whole scheme would start at each word, and a client may have filled the text with words.
 */
const userInfo = /([a-z0-9+.-]:\/\/)[^\s/?#"'<>\\]*@/gi;

/** The credentials of a URL that was truncated before the `@`; only digits after the colon mean host and port. */
const cutUserInfo = new RegExp(
  String.raw`([a-z0-9+.-]://)[^\s/?#"'<>\\:]*:(?!\d*${truncationMark})[^\s/?#"'<>\\]*${truncationMark}`,
  "gi",
);

/** Min characters of a secret that are masked at a cut, and max positions checked per text. */
const cutLength = 4;
const cutsMax = 256;

export function maskCredentials(text: string): string {
  const shown = text.includes("://") && text.includes("@") ? text.replace(userInfo, `$1${shownInstead}@`) : text;
  return shown.includes(truncationMark) ? shown.replace(cutUserInfo, `$1${shownInstead}${truncationMark}`) : shown;
}

/** Masked strings, each with its replacement. */
type Hidden = readonly (readonly [found: string, shown: string])[];

/** Masks prefixes of secrets where a text was truncated. If the text contains more cut marks than any service writes, checks only the last ones. */
function maskCut(text: string, secrets: Hidden): string {
  let rest = text;
  let shown = "";
  for (
    let marks = 0, at = rest.lastIndexOf(truncationMark);
    at > 0 && marks < cutsMax;
    at = rest.lastIndexOf(truncationMark)
  ) {
    const left = secrets.reduce((most, [secret]) => Math.max(most, measureCut(rest, at, secret)), 0);
    shown = `${left > 0 ? shownInstead : ""}${rest.slice(at)}${shown}`;
    rest = rest.slice(0, at - left);
    marks += 1;
  }
  return rest + shown;
}

/** Returns the length of the secret's prefix that ends at `at`; 0 if it is too short to identify the secret. */
function measureCut(text: string, at: number, secret: string): number {
  const last = text.charCodeAt(at - 1);
  for (let length = Math.min(secret.length - 1, at); length >= cutLength; length -= 1) {
    if (secret.charCodeAt(length - 1) === last && text.startsWith(secret.slice(0, length), at - length)) return length;
  }
  return 0;
}

/**
 * Creates a process's mask. The mask knows the process's URLs and secrets, and masks their parts wherever they appear: in a library's
 * error, a response that repeats the request, a stack trace. In a URL, it masks user and password, the value of each parameter, and
 * anything in the path that looks like a key.
 *
 * @example
 * const mask = createMask();
 * mask.hide("https://rpc.example/v3/0123456789abcdef0123");
 * mask.text("no answer from https://rpc.example/v3/0123456789abcdef0123"); // "no answer from https://rpc.example/v3/[masked]"
 */
export function createMask(): Mask {
  const hiddenValues = new Map<string, string>();
  let hiddenByLength: Hidden = [];
  const add = (found: string, shown = shownInstead) => {
    // Also masks the JSON-escaped form, because logs and responses are JSON.
    for (const text of [found, JSON.stringify(found).slice(1, -1)]) hiddenValues.set(text, shown);
  };
  const hide = (value: unknown): void => {
    if (value instanceof Secret) {
      const secret = value.reveal();
      // Libraries may remove or add a key's 0x.
      if (secret.length >= hiddenLength) add(secret.replace(/^0x(?=[0-9a-f]{64}$)/i, ""));
      addUrlParts(secret, add);
    } else if (typeof value === "string") addUrlParts(value, add);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(hide);
  };
  return {
    hide: (value) => {
      hide(value);
      hiddenByLength = [...hiddenValues].toSorted(([a], [b]) => b.length - a.length);
    },
    text: (text) => {
      const shown = hiddenByLength.reduce((soFar, [found, put]) => soFar.replaceAll(found, put), maskCredentials(text));
      return shown.includes(truncationMark) ? maskCut(shown, hiddenByLength) : shown;
    },
  };
}

/** Masks the parts of a URL; does nothing for other text. */
function addUrlParts(text: string, add: (found: string, shown?: string) => void): void {
  const url = text.includes("://") ? URL.parse(text) : null;
  if (url === null) return;
  const { username, password, host, pathname, searchParams, search } = url;
  const long = [username, password, ...searchParams.values(), ...listRawValues(search)];
  for (const part of long) {
    for (const spelling of [part, removeEscapes(part)]) if (spelling.length >= hiddenLength) add(spelling);
  }
  if (username !== "" || password !== "") {
    const credentials = `${removeEscapes(username)}:${removeEscapes(password)}`;
    add(Buffer.from(credentials, "utf8").toString("base64"));
  }
  for (const pair of search.slice(1).split("&")) {
    const at = pair.indexOf("=");
    if (at > 0 && at < pair.length - 1) add(pair, `${pair.slice(0, at)}=${shownInstead}`);
  }
  // A URL without a host, such as of a Unix socket, has the path of a file.
  if (host !== "") for (const segment of pathname.split("/")) if (keyInPath.test(segment)) add(segment);
}

function listRawValues(search: string): readonly string[] {
  return search
    .slice(1)
    .split("&")
    .map((pair) => pair.slice(pair.indexOf("=") + 1));
}

/** Returns the decoded part of a URL; unchanged if its escapes are invalid. */
function removeEscapes(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A lone % is literal.
    return part;
  }
}
