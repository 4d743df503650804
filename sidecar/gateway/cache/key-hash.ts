/** Most characters of a key that are looked at from either end, so that a long one costs no more than its copy does. */
const lookedAt = 256;

let lastKey = "";
let lastHash = hashOf(lastKey);

/**
 * A hash of a key (FNV-1a, 32 bits). Long keys that differ in the middle alone have the same: whoever uses it compares the keys as well, or
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
  let hash = 0x811c9dc5 ^ length;
  const headEnd = Math.min(length, lookedAt);
  for (let at = 0; at < headEnd; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  for (let at = Math.max(headEnd, length - lookedAt); at < length; at += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
