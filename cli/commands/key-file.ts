import { readNamedText } from "#daemon/files/regular-file.ts";

/** Max bytes read from a key file; no key is longer. */
const keyBytes = 65_536;

/** Reads a private key from a file, with or without its 0x. Throws an error that explains why the file can't be read. */
export function readKeyFile(path: string): string {
  return readNamedText(path, keyBytes)
    .trim()
    .replace(/^(?!0x)/, "0x");
}
