import { chmod, mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

/** Directory of the socket in a state directory; only its owner may look inside. */
const socketDirectory = "control";

const socketName = "sidecar.sock";

/** Bytes that a socket's path may have everywhere (unix(7): 108 on Linux, 104 on macOS, with the NUL at the end). */
const pathBytesMax = 103;

/** Path by which a socket is bound or reached; valid until it is disposed of. */
export type SocketPath = AsyncDisposable & Readonly<{ path: string }>;

/** Builds the path of a state directory's socket, as people read it. */
export function locateSocket(stateDirectory: string): string {
  return join(stateDirectory, socketDirectory, socketName);
}

/** Makes the socket's directory, and removes the socket of an earlier sidecar. The caller holds the state's lock. */
export async function prepareSocket(stateDirectory: string): Promise<void> {
  const directory = join(stateDirectory, socketDirectory);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  await rm(join(directory, socketName), { force: true });
}

/**
 * Finds a path for the socket that is short enough to bind or connect to: its own, or through the descriptor of its open directory, as Linux
 * has it (proc(5), /proc/self/fd).
 */
export async function findSocketPath(stateDirectory: string): Promise<SocketPath> {
  const path = locateSocket(stateDirectory);
  const isShort = Buffer.byteLength(path) <= pathBytesMax;
  let directory: FileHandle | undefined;
  if (!isShort && process.platform === "linux") directory = await open(join(stateDirectory, socketDirectory), "r");
  return {
    path: directory === undefined ? path : `/proc/self/fd/${directory.fd}/${socketName}`,
    [Symbol.asyncDispose]: async () => directory?.close(),
  };
}
