import { getHashes, hash } from "node:crypto";
import * as Hash from "ox/Hash";

/** OpenSSL's name of Keccak-256. Node is built with such a version from 24.5 on. */
const native = "keccak-256";

/** Hashes with Keccak-256, natively where OpenSSL has it: in a tenth of the time that JavaScript takes. */
export const keccak256: (bytes: Uint8Array) => Buffer = getHashes().includes(native)
  ? (bytes) => hash(native, bytes, "buffer")
  : (bytes) => Buffer.from(Hash.keccak256(bytes, { as: "Bytes" }));
