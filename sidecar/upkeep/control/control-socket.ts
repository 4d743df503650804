import { chmod, mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

const socketDirectory = "control";

const socketName = "sidecar.sock";

/** Portable max length, in bytes, of a socket's path (unix(7): 108 on Linux, 104 on macOS, including the final NUL). */
const pathBytesMax = 103;

export type BindableSocketPath = AsyncDisposable & Readonly<{ path: string }>;

export function locateSocket(stateDirectory: string): string {
  return join(stateDirectory, socketDirectory, socketName);
}

/** Creates the socket's directory and removes the socket of an earlier sidecar. The caller must hold the state's lock. */
export async function prepareSocket(stateDirectory: string): Promise<void> {
  const directory = join(stateDirectory, socketDirectory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  await rm(join(directory, socketName), { force: true });
}

/** Finds a path short enough to bind: the socket's own, or on Linux one through its open directory (proc(5), /proc/self/fd). */
export async function findSocketPath(stateDirectory: string): Promise<BindableSocketPath> {
  const path = locateSocket(stateDirectory);
  const isShort = Buffer.byteLength(path) <= pathBytesMax;
  let directory: FileHandle | undefined;
  if (!isShort && process.platform === "linux") directory = await open(join(stateDirectory, socketDirectory), "r");
  return {
    path: directory === undefined ? path : `/proc/self/fd/${directory.fd}/${socketName}`,
    [Symbol.asyncDispose]: async () => directory?.close(),
  };
}
