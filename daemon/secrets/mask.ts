import { cutMark } from "./cut-text.ts";
import { Secret } from "./secret.ts";

/** Takes what may not be shown out of texts. */
export type Mask = Readonly<{
  /** A text as it may be logged, answered or printed. */
  text: (text: string) => string;
  /** Hides what a value holds from now on: secrets, and credentials in URLs; objects and lists are looked through. */
  hide: (value: unknown) => void;
}>;

const shownInstead = "[masked]";

/** Shortest text that is hidden wherever it stands; a shorter one may be part of a word, and is hidden in its URL alone. */
const hiddenLength = 12;

/**
 * Credentials of any URL (RFC 3986, section 3.2.1), also in the middle of a text. Of the scheme its last character is enough: a search for a whole one
 * begins at each word of a text, which a client may have made of words alone.
 */
const userInfo = /([a-z0-9+.-]:\/\/)[^\s/?#"'<>\\]*@/gi;

/** A part of a path that is a key, as providers put it there: long, of letters and digits together. */
export const keyInPath = /^(?=.*\d)(?=.*[A-Za-z])[\w-]{16,}$/;

/** The credentials of a URL that was cut before the `@`; what has nothing but digits behind its colon is a host and a port. */
const cutUserInfo = new RegExp(
  String.raw`([a-z0-9+.-]://)[^\s/?#"'<>\\:]*:(?!\d*${cutMark})[^\s/?#"'<>\\]*${cutMark}`,
  "gi",
);

/** Fewest characters of a secret that are hidden where a text was cut, and most places of one text that are looked at. */
const cutLength = 4;
const cutsMost = 256;

/** Hides the credentials of every URL in a text. */
export function maskCredentials(text: string): string {
  const shown = text.includes("@") ? text.replace(userInfo, `$1${shownInstead}@`) : text;
  return shown.includes(cutMark) ? shown.replace(cutUserInfo, `$1${shownInstead}${cutMark}`) : shown;
}

/** Texts that are hidden, each with what is shown in its place. */
type Hidden = readonly (readonly [found: string, shown: string])[];

/** Hides the beginnings of secrets that stand where a text was cut; of more marks than any service writes, where the last are. */
function maskCut(text: string, secrets: Hidden): string {
  let rest = text;
  let shown = "";
  for (let marks = 0, at = rest.lastIndexOf(cutMark); at > 0 && marks < cutsMost; at = rest.lastIndexOf(cutMark)) {
    const left = secrets.reduce((most, [secret]) => Math.max(most, measureCut(rest, at, secret)), 0);
    shown = `${left > 0 ? shownInstead : ""}${rest.slice(at)}${shown}`;
    rest = rest.slice(0, at - left);
    marks += 1;
  }
  return rest + shown;
}

/** Returns how many of a secret's first characters stand before `at`; 0 if they are too few to be any of it. */
function measureCut(text: string, at: number, secret: string): number {
  const last = text.charCodeAt(at - 1);
  for (let length = Math.min(secret.length - 1, at); length >= cutLength; length -= 1) {
    if (secret.charCodeAt(length - 1) === last && text.startsWith(secret.slice(0, length), at - length)) return length;
  }
  return 0;
}

/**
 * Creates the mask of a process. It knows the URLs and secrets that the process was given, and hides their parts wherever they turn up: in a
 * library's error, an answer that repeats the request, a stack. Of a URL these are its user and password, the value of each parameter,
 * and what looks like a key in its path.
 *
 * @example
 * const mask = createMask();
 * mask.hide("https://rpc.example/v3/0123456789abcdef0123");
 * mask.text("no answer from https://rpc.example/v3/0123456789abcdef0123"); // "no answer from https://rpc.example/v3/[masked]"
 */
export function createMask(): Mask {
  const hidden = new Map<string, string>();
  let longestFirst: Hidden = [];
  const add = (found: string, shown = shownInstead) => {
    // As it stands in JSON too, which logs and answers are.
    for (const text of [found, JSON.stringify(found).slice(1, -1)]) hidden.set(text, shown);
  };
  const hide = (value: unknown): void => {
    if (value instanceof Secret) {
      const secret = value.reveal();
      // Libraries drop the 0x of a key, or put it before one.
      if (secret.length >= hiddenLength) add(secret.replace(/^0x(?=[0-9a-f]{64}$)/i, ""));
      addUrlParts(secret, add);
    } else if (typeof value === "string") addUrlParts(value, add);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(hide);
  };
  return {
    hide: (value) => {
      hide(value);
      longestFirst = [...hidden].toSorted(([a], [b]) => b.length - a.length);
    },
    text: (text) => {
      const shown = longestFirst.reduce((sofar, [found, put]) => sofar.replaceAll(found, put), maskCredentials(text));
      return shown.includes(cutMark) ? maskCut(shown, longestFirst) : shown;
    },
  };
}

/** Hides what a URL holds; other text holds nothing. */
function addUrlParts(text: string, add: (found: string, shown?: string) => void): void {
  const url = text.includes("://") ? URL.parse(text) : null;
  if (url === null) return;
  const { username, password, pathname, searchParams, search } = url;
  const long = [username, password, ...searchParams.values(), ...listRawValues(search)];
  for (const part of long) {
    for (const written of [part, removeEscapes(part)]) if (written.length >= hiddenLength) add(written);
  }
  if (username !== "" || password !== "") {
    const credentials = `${removeEscapes(username)}:${removeEscapes(password)}`;
    add(Buffer.from(credentials, "utf8").toString("base64"));
  }
  for (const pair of search.slice(1).split("&")) {
    const at = pair.indexOf("=");
    if (at > 0 && at < pair.length - 1) add(pair, `${pair.slice(0, at)}=${shownInstead}`);
  }
  for (const segment of pathname.split("/")) if (keyInPath.test(segment)) add(segment);
}

function listRawValues(search: string): readonly string[] {
  return search
    .slice(1)
    .split("&")
    .map((pair) => pair.slice(pair.indexOf("=") + 1));
}

/** Returns a part of a URL without its escapes; unchanged if they are invalid. */
function removeEscapes(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A lone % is taken for what it is.
    return part;
  }
}
