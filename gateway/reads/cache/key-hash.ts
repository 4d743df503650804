/** Most characters of a key that are looked at from either end, so that a long one costs no more than its copy does. */
const lookedAt = 256;

let lastKey = "";
let lastHash = hashOf(lastKey);

/**
 * A hash of a key (FNV-1a, 32 bits), a binary string that is taken four characters at a time. Long keys that differ in the middle alone have the same: whoever uses it compares the keys as well, or
 * can bear to be wrong. A read asks for that of its key several times, one after another: the last one is remembered.
 */
export function keyHash(key: string): number {
  if (key !== lastKey) {
    lastHash = hashOf(key);
    lastKey = key;
  }
  return lastHash;
}

function hashOf(key: string): number {
  const { length } = key;
  const headEnd = Math.min(length, lookedAt);
  const ofHead = hashOn(0x811c9dc5 ^ length, key, 0, headEnd);
  return hashOn(ofHead, key, Math.max(headEnd, length - lookedAt), length) >>> 0;
}

function hashOn(before: number, key: string, start: number, end: number): number {
  let hash = before;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    const low = key.charCodeAt(at) | (key.charCodeAt(at + 1) << 8);
    const high = (key.charCodeAt(at + 2) << 16) | (key.charCodeAt(at + 3) << 24);
    hash = Math.imul(hash ^ low ^ high, 0x01000193);
    hash ^= hash >>> 15;
  }
  for (; at < end; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash;
}
