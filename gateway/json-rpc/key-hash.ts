/** Most characters of a key that are hashed from either end, so that a long one costs no more than its copy does. */
const lookedAt = 256;

/**
 * Hashed characters of a key, as bytes. A key is put together from other strings and cut out of other ones, and to read one character of such
 * a string takes several times as long as of a buffer.
 */
const looked = Buffer.allocUnsafeSlow(2 * lookedAt);
const words = new Int32Array(looked.buffer);

const space = 0x20;
/** Bits of a hash: so many that it is a small integer to V8, which takes no memory besides the object that holds it. */
const hashBits = 0x7fffffff;

let lastKey = "";
let lastHash = computeHash(lastKey);

/**
 * Hashes a key (FNV-1a, 31 of its bits), a binary string that is taken four characters at a time. Long keys that differ in the middle alone
 * have the same hash: callers compare the keys as well, or can bear to be wrong. A read needs that of its key several times in a row: the last
 * one is remembered.
 */
export function hashKey(key: string): number {
  if (key !== lastKey) {
    lastHash = computeHash(key);
    lastKey = key;
  }
  return lastHash;
}

/**
 * Hashes a key that was just put together, before it is requested: its two parts stand in the message, and the key itself need not be made
 * one piece of memory for it, which would be kept for as long as the call is in flight.
 *
 * @param method Start of the key; a space follows, and then `params`.
 */
export function hashParts(key: string, method: string, params: string): void {
  if (method.length + 1 >= lookedAt) return;
  lastHash = hashTexts(method, params);
  lastKey = key;
}

/** Remembers a hash that is known for a key that was just put together, before it is requested. */
export function rememberHash(key: string, hash: number): void {
  lastKey = key;
  lastHash = hash;
}

/** Hashes the key of a call whose parameters stand in a message: neither key nor parameters need be strings for it. The name is short. */
export function hashCall(method: string, message: Buffer, paramsAt: number, paramsEnd: number): number {
  const { length: nameEnd } = method;
  for (let at = 0; at < nameEnd; at += 1) looked[at] = method.charCodeAt(at);
  looked[nameEnd] = space;
  const shift = paramsAt - nameEnd - 1;
  const length = paramsEnd - shift;
  let end = Math.min(length, lookedAt);
  message.copy(looked, nameEnd + 1, paramsAt, end + shift);
  if (length > lookedAt) end += message.copy(looked, end, Math.max(lookedAt, length - lookedAt) + shift, paramsEnd);
  return hashLooked(end, length);
}

function hashTexts(method: string, params: string): number {
  const paramsAt = method.length + 1;
  looked.write(method, 0, "latin1");
  looked[method.length] = space;
  let end = paramsAt + looked.write(params, paramsAt, lookedAt - paramsAt, "latin1");
  const length = paramsAt + params.length;
  if (length > lookedAt) {
    end += looked.write(params.slice(Math.max(lookedAt, length - lookedAt) - paramsAt), end, "latin1");
  }
  return hashLooked(end, length);
}

function computeHash(key: string): number {
  const { length } = key;
  let end = looked.write(key, 0, lookedAt, "latin1");
  if (length > lookedAt) end += looked.write(key.slice(Math.max(lookedAt, length - lookedAt)), end, "latin1");
  return hashLooked(end, length);
}

function hashLooked(end: number, length: number): number {
  const wholeWords = end >>> 2;
  let hash = 0x811c9dc5 ^ length;
  for (let word = 0; word < wholeWords; word += 1) {
    hash = Math.imul(hash ^ (words[word] ?? 0), 0x01000193);
    hash ^= hash >>> 15;
  }
  for (let at = 4 * wholeWords; at < end; at += 1) hash = Math.imul(hash ^ (looked[at] ?? 0), 0x01000193);
  return hash & hashBits;
}
