import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";

/** Portable max length, in bytes, of a socket's path (unix(7): 108 on Linux, 104 on macOS, including the final NUL). */
const pathBytesMax = 103;

export type ShortSocketPath = AsyncDisposable & Readonly<{ path: string }>;

/** Finds a path short enough for a socket's address until disposed of: its own, or on Linux one through its open directory (proc(5), /proc/self/fd). */
export async function findShortSocketPath(path: string): Promise<ShortSocketPath> {
  const isUsable = Buffer.byteLength(path) <= pathBytesMax || process.platform !== "linux";
  const directory = isUsable ? undefined : await open(dirname(path), "r");
  return {
    path: directory === undefined ? path : `/proc/self/fd/${directory.fd}/${basename(path)}`,
    [Symbol.asyncDispose]: async () => directory?.close(),
  };
}
