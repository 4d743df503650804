import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

const socketDirectory = "control";

const socketName = "sidecar.sock";

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
