import { buildCallKey } from "./call.ts";

/** Max characters hashed at each end of a key, so that hashing a long key costs no more than copying it. */
const lookedAt = 256;

/**
 * Bytes of the part of a key that is hashed. Keys are concatenations or slices of other strings, and reading a character from such a string
 * takes several times as long as reading it from a buffer.
 */
const looked = Buffer.allocUnsafeSlow(2 * lookedAt);
const words = new Int32Array(looked.buffer);

const space = 0x20;
/** Mask of the hash bits: few enough for a V8 small integer, which needs no separate allocation. */
const hashBits = 0x7fffffff;

/**
 * Hashes a key (FNV-1a, 31 bits), a binary string that is processed four characters at a time. Long keys that differ only in the middle
 * have the same hash, so callers must also compare the keys or tolerate collisions.
 */
export function hashKey(key: string): number {
  const { length } = key;
  let end = looked.write(key, 0, lookedAt, "latin1");
  if (length > lookedAt) end += looked.write(key.slice(Math.max(lookedAt, length - lookedAt)), end, "latin1");
  return hashLooked(end, length);
}

/**
 * Hashes the `buildCallKey` of a method and parameters. Both are in the message, so the key need not be flattened into a contiguous string
 * that would occupy memory for as long as the call is in flight.
 */
export function hashParts(method: string, params: string): number {
  const paramsAt = method.length + 1;
  if (paramsAt >= lookedAt) return hashKey(buildCallKey(method, params));
  looked.write(method, 0, "latin1");
  looked[method.length] = space;
  let end = paramsAt + looked.write(params, paramsAt, lookedAt - paramsAt, "latin1");
  const length = paramsAt + params.length;
  if (length > lookedAt) {
    end += looked.write(params.slice(Math.max(lookedAt, length - lookedAt) - paramsAt), end, "latin1");
  }
  return hashLooked(end, length);
}

/** Hashes the key of a call whose parameters are in a message, without building strings for the key or the parameters. The name is short. */
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
