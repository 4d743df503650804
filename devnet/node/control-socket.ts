import { open } from "node:fs/promises";
import { join } from "node:path";

/** Longest path that a Unix socket's address holds on Linux and macOS, without the ending zero (unix(7): 108; macOS: 104). */
const socketPathBytesMax = 103;

/** The address of the node's control socket, usable until it is disposed of. */
export type ControlAddress = AsyncDisposable & Readonly<{ path: string }>;

/**
 * Names the socket over which `node_cli` talks to the node of a workspace. In a deep directory the plain path would not fit
 * into a socket's address; there the way leads through an open handle of the directory, which Linux alone offers.
 */
export async function controlAddress(runDirectory: string): Promise<ControlAddress> {
  const path = join(runDirectory, "control.sock");
  if (Buffer.byteLength(path) <= socketPathBytesMax) return { path, [Symbol.asyncDispose]: async () => {} };
  const directory = await open(runDirectory, "r");
  return {
    path: `/proc/self/fd/${directory.fd}/control.sock`,
    [Symbol.asyncDispose]: () => directory.close(),
  };
}
