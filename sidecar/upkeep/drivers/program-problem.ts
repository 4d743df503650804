import { access, constants } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";

/** Why a program can't be run in a directory; undefined where it can, as far as that is seen: where a name without a slash is found, the system decides. */
export async function findProgramProblem(file: string, directory: string): Promise<string | undefined> {
  if (!file.includes("/")) return undefined;
  const path = resolve(directory, file);
  if (await isThere(path, constants.X_OK)) return undefined;
  if (await isThere(path)) return `can't be run by this user; run chmod +x ${path}`;
  const where = isAbsolute(file) ? "there" : `into ${directory}`;
  return `is not there; put it ${where}, or name another program`;
}

/** Whether a file is there, and may be used so. */
export async function isThere(path: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
