import { isAt } from "./json-scanner.ts";

/** Max cached names; a power of two. */
const places = 64;
/** Max length of a cached name. */
const longest = 64;
const quote = 0x22;

/** Characters of a method name that need no escaping in JSON. */
const ofName = Uint8Array.from({ length: 256 }, (_, code) => Number(/\w/.test(String.fromCharCode(code))));

/** The most recent names, shared by all callers, because a name reveals nothing about its sender. */
const known: (string | undefined)[] = Array.from({ length: places });

/**
 * Reads the name in the JSON string at `at` if it is short and contains no escape, as is the case for every known method; otherwise returns
 * undefined. A known name is the same string object each time: a slice of a message would keep the whole message alive and need hashing on
 * each map lookup.
 */
export function readName(bytes: Buffer, at: number): string | undefined {
  if (bytes[at] !== quote) return undefined;
  const start = at + 1;
  let end = start;
  let hash = 0;
  while (ofName[bytes[end] ?? 0] === 1 && end - start <= longest) {
    hash = (Math.imul(hash, 31) + (bytes[end] ?? 0)) | 0;
    end += 1;
  }
  if (bytes[end] !== quote || end === start || end - start > longest) return undefined;
  const place = hash & (places - 1);
  const before = known[place];
  if (before !== undefined && before.length === end - start && isAt(bytes, start, before)) return before;
  const name = bytes.toString("latin1", start, end);
  known[place] = name;
  return name;
}
