import { isAt } from "./json-scanner.ts";

/** Names that are known at a time; a power of two. */
const places = 64;
/** Longest name that is known again. */
const longest = 64;
const quote = 0x22;

/** Characters of a method's name that stand for themselves in JSON. */
const ofName = Uint8Array.from({ length: 256 }, (_, code) => Number(/\w/.test(String.fromCharCode(code))));

/** The latest names; all callers' calls share them, because a name says nothing of who sent it. */
const known: (string | undefined)[] = Array.from({ length: places });

/**
 * Reads the name in the JSON string at `at`, if it is short and written without an escape, as every method's is; undefined for any other. A name
 * that came before is the same string each time: what is cut out of a message keeps all of it alive, and has to be hashed to be
 * found in a map.
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
