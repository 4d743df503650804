import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { StartupError } from "../process/startup-error.ts";

/**
 * Opens a regular file to append to; only its owner can read a new one. Doesn't follow a symbolic link, which another user may have put in
 * its place, or block on a named pipe.
 *
 * @throws {StartupError} for anything but a regular file.
 */
export function openToAppend(path: string): number {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    const file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
    throw new StartupError(`${path} is a symbolic link; remove it`, { cause: error });
  }
  throw new StartupError(`${path} is not a regular file; remove it`);
}
